/** `User-Agent` of a run: no target may know a test by its header. */

/** Published clients; one sends none. */
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

/** Undefined for none. */
export const usualUserAgent = (seed: number): string | undefined => USUAL[seed % USUAL.length];
