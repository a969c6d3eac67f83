/** What a server says to bytes that are no request of HTTP/1. */

import type { IncomingMessage, ServerResponse } from 'node:http';

/** A request and its answer. */
export interface Exchange {
  request: IncomingMessage;
  response: ServerResponse;
}

/**
 * Whether the answer is the last one on its connection: it says so, or it came before the request was whole. One more
 * would be read as the answer to a request that nobody made.
 */
export const isLastWord = ({ request, response }: Exchange): boolean =>
  response.writableEnded && (!response.shouldKeepAlive || !request.complete);

/**
 * Whether a request is of HTTP/1. Node takes a line without a version for HTTP/0.9, in which all that follows belongs
 * to no request.
 */
export const isHttp1 = ({ httpVersionMajor }: Pick<IncomingMessage, 'httpVersionMajor'>): boolean =>
  httpVersionMajor === 1;

const STATUS: Readonly<Record<string, string>> = {
  HPE_HEADER_OVERFLOW: '431 Request Header Fields Too Large',
  HPE_CHUNK_EXTENSIONS_OVERFLOW: '413 Payload Too Large',
  ERR_HTTP_REQUEST_TIMEOUT: '408 Request Timeout',
};

/** Code and reason for an error of `clientError`. */
export const statusOf = (error: Error): string =>
  STATUS[(error as NodeJS.ErrnoException).code ?? ''] ?? '400 Bad Request';

/** A whole answer without a body, the last one on its connection. */
export const lastAnswer = (status: string): string =>
  `HTTP/1.1 ${status}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`;

/** A part of a path without its percent-encoding; as it stands when that is wrong, since no resource is called so. */
export function percentDecoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
