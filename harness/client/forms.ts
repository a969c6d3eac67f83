/**
 * Forms of a request that mean the same by HTTP (RFC 9110, RFC 3986), or that add what a server may ignore. A target
 * that knows one form alone serves the client that it was tried with, and no other.
 */
import { type Parameters, queryText } from './request-forms.ts';

type Headers = Record<string, string>;

/** What is left out is as usual. */
export interface Form {
  /** What is unusual about it, in words: "with header names in capitals". */
  readonly name: string;
  /** Names are in lower case before it. */
  readonly headers?: (headers: Headers) => Headers;
  /** The query with its question mark, of one that is not given as text. */
  readonly query?: (query: Parameters) => string;
  /** The body is sent in chunks. */
  readonly chunked?: true;
}

/** The order of parameters of one name may mean something, and stays. */
const reversed = (query: Parameters): string => queryText(Object.fromEntries(Object.entries(query).reverse()));

/** Letters and digits of the values are encoded, which changes nothing (RFC 3986, section 6.2.2.2). */
const encoded = (query: Parameters): string => queryText(query).replaceAll(/=[^&]+/g, (value) => encodedText(value));

const encodedText = (text: string): string =>
  text.replaceAll(/%..|[A-Za-z0-9]/g, (part) =>
    part.length > 1 ? part : `%${part.charCodeAt(0).toString(16).toUpperCase()}`,
  );

export const FORMS: readonly Form[] = [
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
