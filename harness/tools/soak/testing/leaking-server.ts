/** An HTTP server that keeps as many bytes of each request as its argument says. Prints its port. For tests. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import process from 'node:process';

const kept: Buffer[] = [];
const bytes = Number(process.argv[2]);
const server = createServer((_request, response) => {
  if (bytes > 0) kept.push(Buffer.alloc(bytes, kept.length));
  response.end(String(kept.length));
});
server.listen(0, '127.0.0.1', () => process.stdout.write(`${(server.address() as AddressInfo).port}\n`));
