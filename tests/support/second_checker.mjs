// Compares the checker of the documentation with Python's, of which each line of a file tells:
//
//     node tests/support/second_checker.mjs forged.jsonl ...
//
// A line is {"text", "python"}, as `python -m tests.fuzz.certificates forge --lines` writes it. Prints
// each certificate on which they differ, then the counts as JSON. A refusal of one alone for its work
// is counted apart. Ends with the status 1 if there is any difference.

import { createReadStream } from "node:fs";
import { createInterface } from "node:readline";
import { check } from "../../docs/_static/check.js";

const counts = { both_accept: 0, both_refuse: 0, work: 0, differ: 0, most_work: 0 };
for (const path of process.argv.slice(2)) {
  for await (const line of createInterface({ input: createReadStream(path, "utf-8") })) {
    const { text, python } = JSON.parse(line), said = check(text);
    const accepted = [python.startsWith("accepted"), said.verdict !== "refused"];
    if (accepted[0] === accepted[1]) {
      counts[accepted[0] ? "both_accept" : "both_refuse"]++;
      if (accepted[1]) counts.most_work = Math.max(counts.most_work, said.work);
    } else if (said.isWork || /\bwork\b/.test(python)) counts.work++;
    else {
      counts.differ++;
      console.log(JSON.stringify({ python, second: said.reason ?? said.verdict, text }));
    }
  }
}
console.log(JSON.stringify(counts));
process.exitCode = counts.differ ? 1 : 0;
