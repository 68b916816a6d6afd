// What is kept on the phone, in IndexedDB: the link, the roster, and the scans that the service has not received yet.

const STORES = ["values", "tickets", "scans"];

/** Opens the database. Rejects if the browser keeps nothing, for example in a private window. */
export function openStorage() {
  return new Promise((resolve, reject) => {
    const request = indexedDB.open("ticketing-door", 1);
    request.onupgradeneeded = () => STORES.forEach((name) => request.result.createObjectStore(name));
    request.onsuccess = () => {
      // Safari may close the database of a page in the background.
      request.result.onclose = () => location.reload();
      resolve(new Storage(request.result));
    };
    request.onerror = () => reject(request.error);
    request.onblocked = () => reject(new Error("the database is blocked"));
  });
}

class Storage {
  #database;

  constructor(database) {
    this.#database = database;
  }

  /** Calls a function with the stores. Resolves when what it has written is on the disk, all of it or nothing. */
  write(change) {
    return new Promise((resolve, reject) => {
      const transaction = this.#database.transaction(STORES, "readwrite", { durability: "strict" });
      transaction.oncomplete = () => resolve();
      transaction.onabort = () => reject(transaction.error ?? new Error("the transaction was aborted"));
      const stores = {};
      for (const name of STORES) stores[name] = transaction.objectStore(name);
      try {
        change(stores);
      } catch (error) {
        transaction.abort();
        reject(error);
      }
    });
  }

  value(key) {
    return this.#read("values", (store) => store.get(key));
  }

  tickets() {
    return this.#read("tickets", (store) => store.getAll());
  }

  scans() {
    return this.#read("scans", (store) => store.getAll());
  }

  #read(name, ask) {
    return new Promise((resolve, reject) => {
      const request = ask(this.#database.transaction(name).objectStore(name));
      request.onsuccess = () => resolve(request.result);
      request.onerror = () => reject(request.error);
    });
  }
}
