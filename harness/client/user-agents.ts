/** `User-Agent` of a run: a target must not recognise a test by a header. */

/** Values of published clients; one sends none. */
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

/** `User-Agent` for a seed; undefined for none. */
export const usualUserAgent = (seed: number): string | undefined => USUAL[seed % USUAL.length];
