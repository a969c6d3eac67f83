/** Handling of requests that are not HTTP/1, and of paths or bodies that cannot be decoded. */

import type { IncomingMessage, ServerResponse } from 'node:http';

export interface Exchange {
  request: IncomingMessage;
  response: ServerResponse;
}

/** True if the connection must close after the response, so that no further response may follow. */
export const isLastWord = ({ request, response }: Exchange): boolean =>
  response.writableEnded && (!response.shouldKeepAlive || !request.complete);

/** False for HTTP/0.9, as which Node accepts a request line without a version. */
export const isHttp1 = ({ httpVersionMajor }: Pick<IncomingMessage, 'httpVersionMajor'>): boolean =>
  httpVersionMajor === 1;

/** Closes after the answer to a declined upgrade, because Node drops the rest of its packet and serves the next one. */
export function closeAfterUpgrade({ request, response }: Exchange): void {
  if (request.headers.upgrade !== undefined) response.shouldKeepAlive = false;
}

const STATUS: Readonly<Record<string, string>> = {
  HPE_HEADER_OVERFLOW: '431 Request Header Fields Too Large',
  HPE_CHUNK_EXTENSIONS_OVERFLOW: '413 Payload Too Large',
  ERR_HTTP_REQUEST_TIMEOUT: '408 Request Timeout',
};

export const statusOf = (error: Error): string =>
  STATUS[(error as NodeJS.ErrnoException).code ?? ''] ?? '400 Bad Request';

export const lastAnswer = (status: string): string =>
  `HTTP/1.1 ${status}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`;

export async function bodyText(request: IncomingMessage, most: number): Promise<string | undefined> {
  const parts: Buffer[] = [];
  let size = 0;
  for await (const part of request as AsyncIterable<Buffer>) {
    size += part.length;
    if (size > most) return undefined;
    parts.push(part);
  }
  return Buffer.concat(parts).toString();
}

/** Returns text with an invalid encoding unchanged; such text matches no resource. */
export function percentDecoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
