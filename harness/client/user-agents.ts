/** Picks a run's `User-Agent` from common clients, so that no target recognises a test. */

/** Values of common clients; undefined sends no header. */
const USUAL = [
  'curl/8.14.1',
  'python-requests/2.32.5',
  'python-httpx/0.28.1',
  'Go-http-client/1.1',
  'okhttp/5.1.0',
  'axios/1.13.2',
  'node',
  undefined,
] as const;

export const usualUserAgent = (seed: number): string | undefined => USUAL[seed % USUAL.length];
