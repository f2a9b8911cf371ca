// Searches a store from Node: npm install && FPSTORE_LIB=PREFIX/lib/libfpstore.so node search.mjs STORE HEX...
import koffi from 'koffi';

const lib = koffi.load(process.env.FPSTORE_LIB ?? 'libfpstore.so.0');
const handle = koffi.out(koffi.pointer('void *'));
const text = ['void *', 'size_t'];
const open = lib.func('fps_open', 'int', ['str', 'void *', handle, ...text]);
const close = lib.func('void fps_close(void *)');
const newSearcher = lib.func('fps_searcher_new', 'int', ['void *', handle, ...text]);
const freeSearcher = lib.func('void fps_searcher_free(void *)');
const searchMany = lib.func('fps_search_many', 'int', ['void *', 'void *', 'size_t', 'void *', 'void *', ...text]);

/** Calls a function of fpstore with a buffer for the text of an error, and throws that text. */
const message = Buffer.alloc(512);
function call(act, ...args) {
  if (act(...args, message, message.length) !== 0) {
    throw new Error(message.toString('utf8', 0, message.indexOf(0)));
  }
}

/** The hits of many needles, valid until the next call of their store. */
class Batch {
  constructor(batch) {
    // Elements of an array at a pointer, which is followed by their number, without a copy.
    const array = (at, len) => {
      const count = Number(batch.readBigUInt64LE(at + 8));
      return count > 0 ? new DataView(koffi.view(koffi.decode(batch, at, 'void *'), count * len)) : null;
    };
    [this.ends, this.found, this.ids] = [array(0, 8), array(16, 24), array(32, 24)];
    this.texts = this.ids && koffi.decode(batch, 32, 'void *');
  }

  hits(needle) {
    const end = (of) => (of < 0 ? 0 : Number(this.ends.getBigUint64(8 * of, true)));
    const found = [];
    for (let at = 24 * end(needle - 1); at < 24 * end(needle); at += 24) {
      const first = Number(this.found.getBigUint64(at + 8, true));
      const ids = Array.from({ length: this.found.getUint32(at + 16, true) }, (_, id) => this.id(24 * (first + id)));
      const [fingerprint, distance] = [this.found.getBigUint64(at, true), this.found.getUint32(at + 20, true)];
      found.push({ fingerprint, distance, ids });
    }
    return found;
  }

  id(at) {
    const text = koffi.decode(this.texts, at, 'void *');
    if (text === null) return String(this.ids.getBigUint64(at + 16, true));
    return koffi.decode(text, 'char', Number(this.ids.getBigUint64(at + 8, true)));
  }
}

export class Store {
  query = Buffer.alloc(56); // fps_query
  batch = Buffer.alloc(88); // fps_batch

  /** Reads the store into memory: Node cannot recover from SIGBUS. */
  constructor(path) {
    const options = new BigUint64Array([16n, 2n]); // size, FPS_ACCESS_MEMORY
    const store = [null], searcher = [null];
    call(open, path, options, store);
    call(newSearcher, store[0], searcher);
    [this.store, this.searcher] = [store[0], searcher[0]];
  }

  /** Searches for all needles, a BigUint64Array, within k bits. */
  searchMany(needles, k, maxIds = 10) {
    this.query.writeUInt32LE(k, 8);
    this.query.writeUInt32LE(maxIds, 12);
    call(searchMany, this.searcher, needles, needles.length, this.query, this.batch);
    return new Batch(this.batch);
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
    const batch = store.searchMany(needles, 3);
    const lines = texts.flatMap((_, at) => batch.hits(at).flatMap((hit) =>
      hit.ids.map((id) => [hex(needles[at]), hex(hit.fingerprint), hit.distance, id].join('\t'))));
    lines.forEach((line) => console.log(line));
    store.close();
    process.exitCode = lines.length > 0 ? 0 : 1;
  } catch (error) {
    console.error(`search: ${error.message}`);
    process.exitCode = 2;
  }
}
