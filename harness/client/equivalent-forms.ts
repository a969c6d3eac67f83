/**
 * Variations of a request that mean the same in HTTP (RFC 9110, RFC 3986), or add parts that a server may ignore. A
 * target that accepts only one serves no other client.
 */
import { type Parameters, queryText } from './request-forms.ts';

type Headers = Record<string, string>;

export interface Form {
  /** Name in words: "with header names in capitals". */
  readonly name: string;
  readonly headers?: (headers: Headers) => Headers;
  readonly query?: (query: Parameters) => string;
  readonly chunked?: true;
}

/** Keeps the order of parameters of one name, which may have a meaning. */
const reversed = (query: Parameters): string => queryText(Object.fromEntries(Object.entries(query).reverse()));

/** Encodes letters and digits of the values, without effect by RFC 3986, section 6.2.2.2. */
const encoded = (query: Parameters): string => queryText(query).replaceAll(/=[^&]+/g, (value) => encodedText(value));

const encodedText = (text: string): string =>
  text.replaceAll(/%..|[A-Za-z0-9]/g, (part) =>
    part.length > 1 ? part : `%${part.charCodeAt(0).toString(16).toUpperCase()}`,
  );

export const EQUIVALENT_FORMS: readonly Form[] = [
  {
    name: 'with header names in capitals',
    headers: (headers) =>
      Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toUpperCase(), value])),
  },
  { name: 'with Accept: application/json', headers: (headers) => ({ accept: 'application/json', ...headers }) },
  {
    name: 'with headers that it may ignore',
    headers: (headers) => ({ 'accept-language': 'en', 'cache-control': 'no-cache', dnt: '1', ...headers }),
  },
  { name: 'with the parameters in reverse order', query: reversed },
  { name: 'with percent-encoded letters and digits in the parameters', query: encoded },
  { name: 'with a parameter that it may ignore', query: (query) => queryText({ ...query, _: '1' }) },
  { name: 'with the body in chunks', chunked: true },
];
