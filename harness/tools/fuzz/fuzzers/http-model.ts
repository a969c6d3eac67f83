/** How many requests are in bytes, read strictly after RFC 9112: a server that sees more of them can be made to see what is in a body. */

/**
 * The requests beyond doubt, by method, up to the first that is not one. The body of the last may be broken or unfinished: a server may
 * answer when it has seen the head.
 */
export function plainRequests(text: string): string[] {
  const methods: string[] = [];
  for (let rest = text; ; ) {
    const request = firstOf(rest.replace(/^(\r?\n)+/, ''));
    if (request === undefined) return methods;
    methods.push(request.method);
    if (request.rest === undefined) return methods;
    rest = request.rest;
  }
}

function firstOf(text: string): { method: string; rest: string | undefined } | undefined {
  const end = text.indexOf('\r\n\r\n');
  if (end === -1) return undefined;
  const [first = '', ...lines] = text.slice(0, end).split('\r\n');
  const [, method] = /^([!#$%&'*+.^_`|~\w-]+) [^ ]+ HTTP\/1\.[01]$/.exec(first) ?? [];
  if (method === undefined) return undefined;
  const headers = lines.map((line) => /^([!#$%&'*+.^_`|~\w-]+):[ \t]*(.*?)[ \t]*$/s.exec(line));
  const named = (name: string): string[] =>
    headers.flatMap((header) => (header?.[1]?.toLowerCase() === name ? [header[2] ?? ''] : []));
  const lengths = named('content-length');
  const codings = named('transfer-encoding');
  const after = text.slice(end + 4);
  if (codings.length > 0) {
    if (lengths.length > 0) return undefined;
    // Where the body of an unknown coding ends is unknown too.
    if (codings.length > 1 || codings[0]?.toLowerCase() !== 'chunked') return { method, rest: undefined };
    return { method, rest: afterChunks(after) };
  }
  if (lengths.length === 0) return { method, rest: after };
  if (lengths.length > 1 || !/^\d{1,15}$/.test(lengths[0] ?? '')) return undefined;
  const length = Number(lengths[0]);
  return { method, rest: after.length < length ? undefined : after.slice(length) };
}

function afterChunks(text: string): string | undefined {
  for (let rest = text; ; ) {
    const [line, written = ''] = /^([\da-f]{1,12})[^\r\n]*\r\n/i.exec(rest) ?? [];
    if (line === undefined) return undefined;
    const size = Number.parseInt(written, 16);
    rest = rest.slice(line.length);
    if (size === 0) {
      const [trailers] = /^(?:[^\r\n]+\r\n)*\r\n/.exec(rest) ?? [];
      return trailers === undefined ? undefined : rest.slice(trailers.length);
    }
    if (rest.slice(size, size + 2) !== '\r\n') return undefined;
    rest = rest.slice(size + 2);
  }
}
