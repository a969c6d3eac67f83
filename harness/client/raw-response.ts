/** Reads HTTP/1.1 answers out of bytes (RFC 9112), strictly: a wrong framing must not pass for an answer. */

/** A whole answer. Header names are in lower case, repeated ones joined with `, `. */
export interface RawResponse {
  status: number;
  headers: Record<string, string>;
  body: Buffer;
}

/** Undefined: not whole yet, or no HTTP/1.1. Malformed: its framing is wrong, so that nobody knows where it ends. */
type Parsed<T> = T | undefined | 'malformed';

const CRLF = Buffer.from('\r\n');
const HEAD_END = Buffer.from('\r\n\r\n');

/** The first answer in `bytes`, and how many bytes it takes. One without a length is whole when the connection closes. */
export function parseResponse(
  bytes: Buffer,
  method: string,
  closed: boolean,
): Parsed<{ response: RawResponse; length: number }> {
  const head = parseHead(bytes);
  if (head === undefined) return undefined;
  const { status, headers, length } = head;
  const body = bodyOf({ status, headers }, bytes.subarray(length), method, closed);
  if (body === undefined || body === 'malformed') return body;
  // A copy: the bytes are read over.
  return { response: { status, headers, body: Buffer.from(body.content) }, length: length + body.length };
}

/** The head of the first answer in `bytes`, and how many bytes it takes; undefined when it is not whole yet, or no HTTP/1.1. */
export function parseHead(bytes: Buffer): (Pick<RawResponse, 'status' | 'headers'> & { length: number }) | undefined {
  const end = bytes.indexOf(HEAD_END);
  if (end === -1) return undefined;
  const [statusLine = '', ...lines] = bytes.subarray(0, end).toString('latin1').split('\r\n');
  const status = Number(/^HTTP\/1\.[01] (\d{3})(?: |$)/.exec(statusLine)?.[1] ?? Number.NaN);
  if (Number.isNaN(status)) return undefined;
  return { status, headers: headersOf(lines), length: end + HEAD_END.length };
}

function headersOf(lines: readonly string[]): Record<string, string> {
  const headers: Record<string, string> = {};
  for (const line of lines) {
    const colon = line.indexOf(':');
    if (colon <= 0) continue;
    const name = line.slice(0, colon).toLowerCase();
    const value = line.slice(colon + 1).trim();
    headers[name] = headers[name] === undefined ? value : `${headers[name]}, ${value}`;
  }
  return headers;
}

interface Body {
  content: Buffer;
  /** Bytes that it takes, with its framing. */
  length: number;
}

function bodyOf(
  { status, headers }: Pick<RawResponse, 'status' | 'headers'>,
  bytes: Buffer,
  method: string,
  closed: boolean,
): Parsed<Body> {
  if (method === 'HEAD' || status < 200 || status === 204 || status === 304)
    return { content: Buffer.alloc(0), length: 0 };
  const written = headers['content-length'];
  const coded = headers['transfer-encoding'];
  if (coded !== undefined) {
    const codings = coded.split(',').map((coding) => coding.trim().toLowerCase());
    const chunked = codings.filter((coding) => coding === 'chunked').length;
    if (written !== undefined || chunked > 1) return 'malformed';
    if (codings.at(-1) === 'chunked') return dechunk(bytes);
  }
  // Without a length, and after a coding that does not end by itself.
  if (written === undefined) return closed ? { content: bytes, length: bytes.length } : undefined;
  const length = numberOf(written, DECIMAL);
  if (length === undefined) return 'malformed';
  return bytes.length >= length ? { content: bytes.subarray(0, length), length } : undefined;
}

const DECIMAL = { digits: /^\d{1,15}$/, base: 10 };
const HEXADECIMAL = { digits: /^[\da-f]{1,12}$/i, base: 16 };

/** A size that is all digits; undefined for a negative one, one with other text around it, and one that no number holds exactly. */
const numberOf = (text: string, { digits, base }: { digits: RegExp; base: number }): number | undefined =>
  digits.test(text) ? Number.parseInt(text, base) : undefined;

/** Chunks, up to the one of size 0 with its trailers (RFC 9112, section 7.1). */
function dechunk(bytes: Buffer): Parsed<Body> {
  const parts: Buffer[] = [];
  for (let at = 0; ; ) {
    const end = bytes.indexOf(CRLF, at);
    // As long as it is not there, the end is where the bytes end.
    if ((end === -1 ? bytes.length : end) - at > LONGEST_SIZE_LINE) return 'malformed';
    if (end === -1) return undefined;
    const [written = ''] = bytes.subarray(at, end).toString('latin1').split(';');
    const size = numberOf(written.trim(), HEXADECIMAL);
    if (size === undefined) return 'malformed';
    const start = end + CRLF.length;
    if (size === 0) {
      const length = endOfTrailers(bytes, start);
      return length === undefined ? undefined : { content: Buffer.concat(parts), length };
    }
    const next = start + size + CRLF.length;
    if (bytes.length < next) return undefined;
    if (!bytes.subarray(start + size, next).equals(CRLF)) return 'malformed';
    parts.push(bytes.subarray(start, start + size));
    at = next;
  }
}

/** A size with its extensions. */
const LONGEST_SIZE_LINE = 4096;

/** Trailers are lines up to an empty one. */
function endOfTrailers(bytes: Buffer, from: number): number | undefined {
  for (let at = from; ; ) {
    const end = bytes.indexOf(CRLF, at);
    if (end === -1) return undefined;
    if (end === at) return end + CRLF.length;
    at = end + CRLF.length;
  }
}
