// A network that can be cut, between the browser and the server.
import http from "node:http";

export async function network(target) {
  const held = new Set();
  const sockets = new Set();
  let state = "good";
  const it = {
    /** The text that the server puts for the version of the page, and what stands for it here: a newer version. */
    version: null,
    /** Changes of files, as the end of the path, a text, and what is put in its place. */
    changes: [],
    /** Files of the test beside those of the page, by their paths. */
    files: new Map(),
    /** Whether the operations cannot be reached, and the files of the page can. */
    isBlocked: false,
    /** How many reports of scans the server has answered, or were lost. */
    reports: 0,
    /**
     * "good", "cut", "lost": connections are made, and requests do not arrive, or "slow": requests arrive, and answers wait
     * until the network is good again.
     */
    set(wanted) {
      state = wanted;
      if (state === "cut") sockets.forEach((socket) => socket.destroy());
      if (state === "good") held.forEach((send) => send());
      if (state !== "slow") held.clear();
    },
    close() {
      sockets.forEach((socket) => socket.destroy());
      server.close();
    },
  };

  async function forward(request, response) {
    const parts = [];
    for await (const part of request) parts.push(part);
    const isReport = request.url.endsWith("/scans");
    if (state === "lost") return void (it.reports += Number(isReport));
    const [old, fresh] = it.version ?? ["", ""];
    const { "x-api-key": key, "content-type": type } = request.headers;
    const answer = await fetch(`http://127.0.0.1:${target}${request.url.replace(fresh, old)}`, {
      method: request.method,
      headers: { ...(key && { "x-api-key": key }), ...(type && { "content-type": type }) },
      body: parts.length > 0 ? Buffer.concat(parts) : undefined,
    });
    let text = await answer.text();
    it.reports += Number(isReport);
    for (const [file, before, after] of it.changes) {
      if (!request.url.endsWith(file)) continue;
      if (!text.includes(before)) throw new Error(`${file} has no ${before}`);
      text = text.replace(before, after);
    }
    const headers = Object.fromEntries(answer.headers);
    for (const name of ["content-encoding", "content-length", "transfer-encoding", "connection"]) delete headers[name];
    const send = () => {
      response.writeHead(answer.status, headers);
      response.end(request.url.includes("/door/") && old !== "" ? text.replaceAll(old, fresh) : text);
    };
    if (state === "slow") held.add(send);
    else send();
  }

  const server = http.createServer((request, response) => {
    if (it.isBlocked && request.url.startsWith("/v1/")) return void request.socket.destroy();
    if (it.files.has(request.url)) return void response.end(it.files.get(request.url));
    forward(request, response).catch(() => request.socket.destroy());
  });
  server.on("connection", (socket) => {
    if (state === "cut") return void socket.destroy();
    sockets.add(socket);
    socket.on("close", () => sockets.delete(socket));
  });
  await new Promise((resolve) => { server.listen(0, "127.0.0.1", resolve); });
  it.port = server.address().port;
  return it;
}
