/** Bytes of a client that are no HTTP/1 request, no path or no JSON. */

import type { IncomingMessage, ServerResponse } from 'node:http';

export interface Exchange {
  request: IncomingMessage;
  response: ServerResponse;
}

/**
 * Whether an answer is the last on its connection, because it says so or came before the whole request. A further
 * answer would match no request.
 */
export const isLastWord = ({ request, response }: Exchange): boolean =>
  response.writableEnded && (!response.shouldKeepAlive || !request.complete);

/** Excludes a line without a version, which Node takes for HTTP/0.9, and whose further bytes belong to no request. */
export const isHttp1 = ({ httpVersionMajor }: Pick<IncomingMessage, 'httpVersionMajor'>): boolean =>
  httpVersionMajor === 1;

const STATUS: Readonly<Record<string, string>> = {
  HPE_HEADER_OVERFLOW: '431 Request Header Fields Too Large',
  HPE_CHUNK_EXTENSIONS_OVERFLOW: '413 Payload Too Large',
  ERR_HTTP_REQUEST_TIMEOUT: '408 Request Timeout',
};

export const statusOf = (error: Error): string =>
  STATUS[(error as NodeJS.ErrnoException).code ?? ''] ?? '400 Bad Request';

export const lastAnswer = (status: string): string =>
  `HTTP/1.1 ${status}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`;

/** Decodes a part of a path; keeps an invalid encoding, which matches no resource. */
export function percentDecoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** Value of JSON; undefined for any other text. */
export function jsonIn(text: string | Buffer): unknown {
  try {
    return JSON.parse(String(text));
  } catch {
    return undefined;
  }
}
