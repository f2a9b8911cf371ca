// Node: the same as bench.c, with the class of examples/node/search.mjs.
import { readFileSync } from 'node:fs';
import { Store } from './search.mjs';

const [path, file] = process.argv.slice(2);
const bytes = readFileSync(file);
const queries = BigUint64Array.from({ length: bytes.length / 8 }, (_, at) => bytes.readBigUInt64LE(8 * at));
const store = new Store(path);
let sum = 0;
function median(count, act) {
  let times;
  // The first rounds make Node compile the code.
  for (let round = 0; round < 3; round++) {
    times = Array.from({ length: count }, (_, at) => {
      const start = process.hrtime.bigint();
      sum += act(at);
      return Number(process.hrtime.bigint() - start) / 1e3;
    });
  }
  return times.sort((a, b) => a - b)[count > 1000 ? count >> 1 : 0];
}
const single = (ids) => median(queries.length, (at) =>
  store.searchMany(queries.subarray(at, at + 1), 3, ids)[0].length).toFixed(3);
const batch = median(queries.length / 1000, (at) => {
  let distances = 0;
  for (const hits of store.searchMany(queries.subarray(1000 * at, 1000 * at + 1000), 3, 0)) {
    for (const hit of hits) distances += hit.distance;
  }
  return distances;
}).toFixed(1);
console.log(single(0), single(10), batch);
