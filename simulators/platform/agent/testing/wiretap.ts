/** Proxy between agent and platform that records every exchange and MQTT packet until the test ends. */
import { createServer, type IncomingMessage } from 'node:http';
import { connect, createServer as createTcpServer, type Socket } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { type Packet, parser } from 'mqtt-packet';
import { jsonOf } from '../../../../harness/common/lenient.ts';
import { served } from '../../../../harness/common/testing/servers.ts';
import { AGENT_MESSAGES, agentOperation, strictError } from './agent-operations.ts';

type Exchange = Awaited<ReturnType<typeof relay>>['exchange'];
export type Wiretap = Awaited<ReturnType<typeof wiretap>>;

export async function wiretap(platform: { url: string; mqttUrl: string }) {
  const exchanges: Exchange[] = [];
  const packets: { from: 'agent' | 'platform'; packet: Packet }[] = [];
  const http = createServer((request, response) => {
    void relay(platform.url, request).then(({ exchange, bytes, type }) => {
      exchanges.push(exchange);
      response.writeHead(exchange.status, { 'content-type': type }).end(bytes);
    });
  });
  const broker = new URL(platform.mqttUrl);
  const mqtt = createTcpServer((agent) => {
    const upstream = connect(Number(broker.port), broker.hostname);
    tap(agent, upstream, (packet) => packets.push({ from: 'agent', packet }));
    tap(upstream, agent, (packet) => packets.push({ from: 'platform', packet }));
  });
  const { url } = await served(http);
  const { port } = await served(mqtt);
  return { url, mqttUrl: `mqtt://127.0.0.1:${port}`, exchanges, packets };
}

async function relay(url: string, request: IncomingMessage) {
  const { method = 'GET', url: path = '/', headers } = request;
  const body = await buffer(request);
  const { host, connection, 'content-length': _length, 'transfer-encoding': _encoding, ...passed } = headers;
  const response = await fetch(url + path, {
    method,
    headers: passed as Record<string, string>,
    ...(body.length > 0 && { body }),
  });
  const bytes = Buffer.from(await response.arrayBuffer());
  const sent = { method, path: path.replace(/\?.*$/, ''), headers, body: body.toString() };
  const exchange = { ...sent, status: response.status, answer: bytes.toString() };
  return { exchange, bytes, type: response.headers.get('content-type') ?? '' };
}

function tap(from: Socket, to: Socket, onPacket: (packet: Packet) => void): void {
  const incoming = parser({ protocolVersion: 4 });
  incoming.on('packet', onPacket);
  from.on('data', (chunk: Buffer) => {
    incoming.parse(chunk);
    to.write(chunk);
  });
  from.on('error', () => to.destroy());
  from.on('close', () => to.destroy());
}

export function exchangeProblems({ method, path, body, status, answer }: Omit<Exchange, 'headers'>): string[] {
  const where = `${method} ${path}`;
  const operation = agentOperation(method, path);
  if (operation === undefined) return [`${where} is no operation of the agent API`];
  const prefixed = (part: string, problems: { path: string; message: string }[]) =>
    problems.map((problem) => `${where}: ${part}${problem.path} ${problem.message}`);
  const untaken = body === '' ? [] : [`${where}: takes no body`];
  const problems = operation.request ? prefixed('request', operation.request.problems(jsonOf(body))) : untaken;
  if (status !== 200) return [...problems, ...prefixed(`${status}`, strictError.problems(jsonOf(answer)))];
  return [...problems, ...prefixed('answer', operation.answer?.problems(jsonOf(answer)) ?? [])];
}

export function messageProblems(topic: string, payload: string): string[] {
  const message = AGENT_MESSAGES[topic.split('/').at(-1) ?? ''];
  if (message === undefined) return [`${topic} is no topic of the agent protocol`];
  return message.problems(jsonOf(payload)).map((problem) => `${topic}: ${problem.path} ${problem.message}`);
}
