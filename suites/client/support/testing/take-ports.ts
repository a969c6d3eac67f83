/** Takes all ports of a small network, and prints whether the port of a stopped server was among them. */
import { once } from 'node:events';
import { type AddressInfo, connect, createServer } from 'node:net';
import { ScriptedServer } from '../server.ts';

const server = await ScriptedServer.open({}, { track: () => undefined, request: () => {}, changed: () => {} });
const { port = 0 } = server.place;
await server.leave();

const reached = once(connect({ host: '127.0.0.1', port }), 'connect').then(() => 'somebody');
const answer = await reached.catch((why: NodeJS.ErrnoException) => why.code);

const given: number[] = [];
const take = async (): Promise<boolean> => {
  const server = createServer().listen({ host: '127.0.0.1', port: 0 });
  const listening = once(server, 'listening').then(() => given.push((server.address() as AddressInfo).port));
  return (await listening.catch(() => 0)) > 0;
};
while (await take());

process.stdout.write(JSON.stringify({ answer, given: given.length, again: given.includes(port) }), () =>
  process.exit(),
);
