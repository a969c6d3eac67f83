/** Content codings by name (RFC 9110, section 8.4.1). */
import { promisify } from 'node:util';
import {
  brotliDecompress,
  brotliDecompressSync,
  gunzip,
  gunzipSync,
  inflate,
  inflateSync,
  zstdDecompress,
  zstdDecompressSync,
} from 'node:zlib';

interface Limit {
  maxOutputLength: number;
}

/** Both throw for invalid bytes, and for content above the limit. */
interface Coding {
  unpack(bytes: Buffer, limit: Limit): Promise<Buffer>;
  unpackSync(bytes: Buffer, limit: Limit): Buffer;
}

const GZIP: Coding = { unpack: promisify(gunzip), unpackSync: gunzipSync };

export const CODINGS: ReadonlyMap<string, Coding> = new Map([
  ['gzip', GZIP],
  ['x-gzip', GZIP],
  ['deflate', { unpack: promisify(inflate), unpackSync: inflateSync }],
  ['br', { unpack: promisify(brotliDecompress), unpackSync: brotliDecompressSync }],
  ['zstd', { unpack: promisify(zstdDecompress), unpackSync: zstdDecompressSync }],
]);
