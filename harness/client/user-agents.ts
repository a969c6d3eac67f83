/**
 * What a run says who asks. A target that behaves only before a known tester must not be told by a header that it is
 * tested.
 */

/** As published clients send it; one sends none. */
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

/** The `User-Agent` of a run with that seed: one of those that usual clients send; undefined for none. */
export const usualUserAgent = (seed: number): string | undefined => USUAL[seed % USUAL.length];
