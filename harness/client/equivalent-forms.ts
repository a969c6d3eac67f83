/** Forms of a request that mean the same in HTTP (RFC 9110, RFC 3986), so that answers should not depend on them. */
import { CHROMIUM_AGENT, CHROMIUM_PLATFORM } from './known-clients.ts';

type Headers = Record<string, string>;

export interface Form {
  readonly name: string;
  readonly headers?: (headers: Headers) => Headers;
  readonly spelled?: (name: string) => string;
  readonly query?: (query: string) => string;
  readonly chunked?: true;
  /** Reason why answers must be equal, e.g. an RFC; without a reason, a difference is only an observation. */
  readonly promise?: string;
}

const reversed = (query: string): string =>
  [...Map.groupBy(query.split('&'), (pair) => pair.split('=')[0]).values()].reverse().flat().join('&');

const encoded = (query: string): string =>
  query.replaceAll(/=[^&]+/g, (value) =>
    value.replaceAll(/%..|[A-Za-z0-9]/g, (part) =>
      part.length > 1 ? part : `%${part.charCodeAt(0).toString(16).toUpperCase()}`,
    ),
  );

/** Keeps the user agent of a run with `--identify`, by which the target recognizes requests of Muster. */
const asChromium = ({ 'user-agent': agent = '', ...headers }: Headers): Headers => ({
  ...headers,
  // Adds two headers that Chromium sends for an `EventSource`.
  ...(headers['accept'] === 'text/event-stream' && { pragma: 'no-cache', 'cache-control': 'no-cache' }),
  [CHROMIUM_PLATFORM]: '"Linux"',
  'user-agent': agent.startsWith('muster-') ? agent : CHROMIUM_AGENT,
});

export const EQUIVALENT_FORMS: readonly Form[] = [
  {
    name: 'with header names in capitals',
    spelled: (name) => name.toUpperCase(),
    promise: 'RFC 9110, section 5.1',
  },
  { name: 'with Accept: application/json', headers: (headers) => ({ accept: 'application/json', ...headers }) },
  { name: 'as Chromium asks', headers: asChromium },
  { name: 'with the parameters in reverse order', query: reversed, promise: 'they are independent' },
  {
    name: 'with percent-encoded letters and digits in the parameters',
    query: encoded,
    promise: 'RFC 3986, section 6.2.2.2',
  },
  { name: 'with a parameter that it may ignore', query: (query) => `${query}${query === '' ? '' : '&'}_=1` },
  { name: 'with the body in chunks', chunked: true },
];

export const PROMISED_FORMS: readonly Form[] = EQUIVALENT_FORMS.filter(({ promise }) => promise !== undefined);
