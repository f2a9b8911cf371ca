// Searches a store from Node: npm install && FPSTORE_LIB=PREFIX/lib/libfpstore.so node search.mjs STORE HEX...
import koffi from 'koffi';

const lib = koffi.load(process.env.FPSTORE_LIB ?? 'libfpstore.so.0');
const Options = koffi.struct({ size: 'size_t', access: 'uint32_t', warm: 'uint32_t' });
const Query = koffi.struct({
  needle: 'uint64_t', k: 'uint32_t', max_ids: 'uint32_t', limit: 'uint64_t', max_compared: 'uint64_t',
  timeout_us: 'uint64_t', reserved: koffi.array('uint64_t', 2),
});
const Hit = koffi.struct({ fingerprint: 'uint64_t', first_id: 'uint64_t', id_count: 'uint32_t', distance: 'uint32_t' });
const Id = koffi.struct({ text: 'void *', len: 'size_t', number: 'uint64_t' });
const Batch = koffi.struct('fps_batch', {
  hit_ends: 'void *', query_count: 'size_t', hits: 'void *', hit_count: 'size_t', ids: 'void *', id_count: 'size_t',
  generation: 'uint64_t', cut_count: 'uint64_t',
});
const open = lib.func('fps_open', 'int', ['str', koffi.pointer(Options), koffi.out(koffi.pointer('void *')), 'void *', 'size_t']);
const close = lib.func('void fps_close(void *)');
const newSearcher = lib.func('fps_searcher_new', 'int', ['void *', koffi.out(koffi.pointer('void *')), 'void *', 'size_t']);
const freeSearcher = lib.func('void fps_searcher_free(void *)');
const searchMany = lib.func('fps_search_many', 'int',
  ['void *', 'uint64_t *', 'size_t', koffi.pointer(Query), koffi.out(koffi.pointer(Batch)), 'void *', 'size_t']);

/** Calls a function of fpstore with a buffer for the text of an error, and throws that text. */
function call(act, ...args) {
  const message = Buffer.alloc(512);
  if (act(...args, message, message.length) !== 0) {
    throw new Error(message.toString('utf8', 0, message.indexOf(0)));
  }
}

export class Store {
  /** Reads the store into memory: Node cannot recover from SIGBUS. */
  constructor(path) {
    const store = [null], searcher = [null];
    call(open, path, { size: koffi.sizeof(Options), access: 2, warm: 0 }, store);
    call(newSearcher, store[0], searcher);
    [this.store, this.searcher] = [store[0], searcher[0]];
  }

  /** The hits of each needle, BigInts, within k bits. */
  searchMany(needles, k, maxIds = 10) {
    const query = { needle: 0, k, max_ids: maxIds, limit: 0, max_compared: 0, timeout_us: 0, reserved: [0, 0] };
    const batch = {};
    call(searchMany, this.searcher, BigUint64Array.from(needles), needles.length, query, batch);
    const array = (pointer, type, count) => (count > 0 ? koffi.decode(pointer, koffi.array(type, Number(count))) : []);
    const ends = array(batch.hit_ends, 'uint64_t', batch.query_count);
    const ids = array(batch.ids, Id, batch.id_count).map((id) =>
      id.text === null ? String(id.number) : koffi.decode(id.text, 'char', Number(id.len)));
    const hits = array(batch.hits, Hit, batch.hit_count).map((hit) => ({
      fingerprint: BigInt(hit.fingerprint),
      distance: hit.distance,
      ids: ids.slice(Number(hit.first_id), Number(hit.first_id) + hit.id_count),
    }));
    return needles.map((_, at) => hits.slice(at > 0 ? Number(ends[at - 1]) : 0, Number(ends[at])));
  }

  close() {
    freeSearcher(this.searcher);
    close(this.store);
  }
}

const [path, ...texts] = process.argv.slice(2);
const hex = (number) => number.toString(16).padStart(16, '0');
try {
  const store = new Store(path);
  const needles = texts.map((text) => BigInt(`0x${text}`));
  let found = false;
  store.searchMany(needles, 3).forEach((hits, at) => {
    for (const hit of hits) {
      for (const id of hit.ids) {
        console.log([hex(needles[at]), hex(hit.fingerprint), hit.distance, id].join('\t'));
        found = true;
      }
    }
  });
  store.close();
  process.exitCode = found ? 0 : 1;
} catch (error) {
  console.error(`search: ${error.message}`);
  process.exitCode = 2;
}
