// Starts `mlay lsp` and connects VS Code to it; everything else is the server's.
"use strict";

const vscode = require("vscode");
const { LanguageClient } = require("vscode-languageclient/node");

let client;

async function activate() {
  const [command, ...args] = vscode.workspace.getConfiguration("morelloLayouts").get("command");
  const server = { command, args };
  client = new LanguageClient("morelloLayouts", "Tensor layouts", server, {
    documentSelector: [{ scheme: "file" }, { scheme: "untitled" }],
  });
  await client.start();
}

function deactivate() {
  return client?.stop();
}

module.exports = { activate, deactivate };
