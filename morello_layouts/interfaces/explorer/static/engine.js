"use strict";
// The engine that answers: here the server of this page. The page without a server has another one.
const ENGINE = { loading: "", gone: "The server does not answer. Start it again with: "
  + "morello-layouts explore" };

// Yield the answer to a question as JSON, in one part or several.
async function* answersTo(question, signal) {
  const response = await fetch(`api/answer?${new URLSearchParams(question)}`, { signal });
  if (!response.ok) throw new Error(await response.text());
  yield response.text();
}
