// Keeps the files of the page, so that it starts without a connection.
//
// The server fills in the version and the files. A new version is only used when the page asks for it, which it does when it
// is opened and has nothing to report: never in the middle of an entrance.

const VERSION = "{version}";
const FILES = ["./", ...JSON.parse('{files}')];

self.addEventListener("install", (event) => {
  const requests = FILES.map((file) => new Request(file, { cache: "no-cache" }));
  event.waitUntil(caches.open(VERSION).then((cache) => cache.addAll(requests)));
});

self.addEventListener("activate", (event) => {
  const remove = async () => {
    const old = (await caches.keys()).filter((name) => name !== VERSION);
    await Promise.all(old.map((name) => caches.delete(name)));
    await self.clients.claim();
  };
  event.waitUntil(remove());
});

self.addEventListener("message", ({ data }) => {
  if (data === "activate") self.skipWaiting();
});

self.addEventListener("fetch", (event) => {
  const { request } = event;
  if (request.method !== "GET" || !request.url.startsWith(self.registration.scope)) return;
  const respond = async () => {
    const cache = await caches.open(VERSION);
    return (await cache.match(request, { ignoreSearch: true, ignoreVary: true })) ?? fetch(request);
  };
  event.respondWith(respond());
});
