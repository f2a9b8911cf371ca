// Searches a store from Node: npm install && FPSTORE_LIB=PREFIX/lib/libfpstore.so node search.mjs STORE HEX...
import koffi from 'koffi';

const lib = koffi.load(process.env.FPSTORE_LIB ?? 'libfpstore.so.0');
const open = lib.func('int fps_open(str, void *, _Out_ void **, void *, size_t)');
const close = lib.func('void fps_close(void *)');
const newSearcher = lib.func('int fps_searcher_new(void *, _Out_ void **, void *, size_t)');
const freeSearcher = lib.func('void fps_searcher_free(void *)');
const searchMany = lib.func('int fps_search_many(void *, void *, size_t, void *, void *, void *, size_t)');

/** Calls a function with a buffer for the text of an error, and throws that text. */
const message = Buffer.alloc(512);
function call(act, ...args) {
  if (act(...args, message, message.length) !== 0) {
    throw new Error(message.toString('utf8', 0, message.indexOf(0)));
  }
}

/** An id at an offset of an array of fps_id: text, or a number in decimal. */
function id(ids, at) {
  const [text, len, number] = [0, 8, 16].map((offset) => ids.getBigUint64(at + offset, true));
  return text === 0n ? String(number) : koffi.decode(text, 'char', Number(len));
}

export class Store {
  query = new Uint32Array(14); // fps_query
  batch = new BigUint64Array(11); // fps_batch

  /** Reads the store into memory: Node cannot recover from SIGBUS. */
  constructor(path) {
    const store = [null], searcher = [null];
    call(open, path, new BigUint64Array([16n, 2n]), store); // size, FPS_ACCESS_MEMORY
    call(newSearcher, store[0], searcher);
    [this.store, this.searcher] = [store[0], searcher[0]];
  }

  /** The hits of each needle of a BigUint64Array, within k bits. */
  searchMany(needles, k, maxIds = 10) {
    this.query.set([k, maxIds], 2);
    call(searchMany, this.searcher, needles, needles.length, this.query, this.batch);
    // The array at a pointer of fps_batch, which its length follows, without a copy.
    const array = (at, size) => new DataView(koffi.view(this.batch[at], Number(this.batch[at + 1]) * size));
    const [ends, hits, ids] = [array(0, 8), array(2, 24), array(4, 24)];
    const answer = [];
    for (let needle = 0, at = 0; needle < needles.length; needle++) {
      const found = [];
      for (const end = 24 * ends.getUint32(8 * needle, true); at < end; at += 24) {
        const hit = { fingerprint: hits.getBigUint64(at, true), distance: hits.getUint32(at + 20, true), ids: [] };
        const first = hits.getUint32(at + 8, true), end = first + hits.getUint32(at + 16, true);
        for (let number = first; number < end; number++) hit.ids.push(id(ids, 24 * number));
        found.push(hit);
      }
      answer.push(found);
    }
    return answer;
  }

  close() {
    freeSearcher(this.searcher);
    close(this.store);
  }
}

if (process.argv[1]?.endsWith('search.mjs')) {
  const [path, ...texts] = process.argv.slice(2);
  const hex = (number) => number.toString(16).padStart(16, '0');
  try {
    const store = new Store(path);
    const needles = BigUint64Array.from(texts, (text) => BigInt(`0x${text}`));
    const lines = store.searchMany(needles, 3).flatMap((hits, at) => hits.flatMap((hit) =>
      hit.ids.map((id) => [hex(needles[at]), hex(hit.fingerprint), hit.distance, id].join('\t'))));
    lines.forEach((line) => console.log(line));
    store.close();
    process.exitCode = lines.length > 0 ? 0 : 1;
  } catch (error) {
    console.error(`search: ${error.message}`);
    process.exitCode = 2;
  }
}
