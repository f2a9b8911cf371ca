// Searches a store through a server, 1 000 queries or more in a request, from Node without packages:
//
//     node batch.mjs URL HEX...

/** The hits of each needle, BigInts, within k bits. `fetch` keeps connections open. */
export async function queryMany(url, needles, k) {
  const body = Buffer.alloc(8 * needles.length);
  needles.forEach((needle, at) => body.writeBigUInt64LE(needle, 8 * at));
  const headers = { 'Content-Type': 'application/octet-stream' };
  const response = await fetch(`${url}/v1/query?k=${k}`, { method: 'POST', headers, body });
  const answer = Buffer.from(await response.arrayBuffer());
  if (!response.ok) throw new Error(answer.toString());
  let at = 0;
  return needles.map((_, number) => {
    const count = answer.readUInt32LE(at);
    // The highest bit is set if a limit of the server cut the answer.
    if (count >>> 31) throw new Error(`the answer of query ${number} is cut`);
    at += 4 + 9 * count;
    return Array.from({ length: count }, (_, hit) => {
      const place = at - 9 * (count - hit);
      return { fingerprint: answer.readBigUInt64LE(place), distance: answer[place + 8] };
    });
  });
}

const [url, ...texts] = process.argv.slice(2);
const hex = (number) => number.toString(16).padStart(16, '0');
try {
  const needles = texts.map((text) => BigInt(`0x${text}`));
  (await queryMany(url, needles, 3)).forEach((hits, at) =>
    hits.forEach((hit) => console.log([hex(needles[at]), hex(hit.fingerprint), hit.distance].join('\t'))));
} catch (error) {
  console.error(`batch: ${error.message}`);
  process.exitCode = 2;
}
