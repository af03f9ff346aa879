// A service worker that keeps the page's files, so that it opens without a network too. What
// make_explorer.py writes above names the FILES and their VERSION.
const PREFIX = `explorer ${registration.scope} `, NAME = PREFIX + VERSION;

async function keep() {
  const kept = await caches.open(NAME);
  // The page has loaded most of them: the server need only say that they are the same.
  await kept.addAll(FILES.map(file => new Request(file, { cache: "no-cache" })));
  await skipWaiting();
}

async function replaceOlder() {
  const older = (await caches.keys()).filter(name => name.startsWith(PREFIX) && name !== NAME);
  await Promise.all(older.map(name => caches.delete(name)));
  await clients.claim();
}

async function answer(request) {
  const address = new URL(request.url);
  if (address.pathname.endsWith("/")) address.pathname += "index.html";
  const kept = await caches.open(NAME);
  return await kept.match(address, { ignoreSearch: true }) || fetch(request);
}

addEventListener("install", event => event.waitUntil(keep()));
addEventListener("activate", event => event.waitUntil(replaceOlder()));
addEventListener("fetch", event => event.respondWith(answer(event.request)));
