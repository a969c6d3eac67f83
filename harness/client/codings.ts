/** Content codings by name (RFC 9110, section 8.4.1). */
import { pipeline, type Readable, type Transform } from 'node:stream';
import { promisify } from 'node:util';
import {
  brotliDecompress,
  brotliDecompressSync,
  createBrotliDecompress,
  createGunzip,
  createInflate,
  createZstdDecompress,
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

interface Coding {
  unpack(bytes: Buffer, limit: Limit): Promise<Buffer>;
  unpackSync(bytes: Buffer, limit: Limit): Buffer;
  decoder(): Transform;
}

const GZIP: Coding = { unpack: promisify(gunzip), unpackSync: gunzipSync, decoder: createGunzip };

export const CODINGS: ReadonlyMap<string, Coding> = new Map([
  ['gzip', GZIP],
  ['x-gzip', GZIP],
  ['deflate', { unpack: promisify(inflate), unpackSync: inflateSync, decoder: createInflate }],
  ['br', { unpack: promisify(brotliDecompress), unpackSync: brotliDecompressSync, decoder: createBrotliDecompress }],
  ['zstd', { unpack: promisify(zstdDecompress), unpackSync: zstdDecompressSync, decoder: createZstdDecompress }],
]);

export function decoded(body: Readable, contentEncoding = ''): Readable {
  const coding = CODINGS.get(contentEncoding.trim().toLowerCase());
  return coding === undefined ? body : pipeline(body, coding.decoder(), () => {});
}
