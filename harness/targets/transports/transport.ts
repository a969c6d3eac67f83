/** From an address to a transport and a client that speaks over it. */
import { resolve } from 'node:path';
import { rootCertificates } from 'node:tls';
import { HttpClient } from '../../client/http.ts';
import { Recorder } from '../../client/recorder.ts';
import type { Redactor } from '../../client/redact.ts';
import { readInputText, whyNot } from '../../common/read-input.ts';
import { UsageError } from '../../common/usage-error.ts';
import { type DiscoveryFile, discoveryFile } from '../../contract/discovery.ts';
import { DEVICE_API_PREFIX } from '../../contract/versions.ts';
import type { DeviceTransport } from '../contexts.ts';

export interface DeviceAddress {
  socket?: string;
  discovery?: string;
  url?: string;
  token?: string;
  /** PEM, the text itself. */
  ca?: string;
  caFile?: string | undefined;
}

/** Reads the discovery file where there is one; throws Error when it is missing or no discovery file. */
export function transportOf(address: DeviceAddress, redactor: Redactor): DeviceTransport {
  if (address.socket !== undefined) return { kind: 'unix', socketPath: resolve(address.socket) };
  if (address.discovery !== undefined) {
    const file = resolve(address.discovery);
    const { port, token } = readDiscovery(file);
    redactor.add(token, 'MUSTER_TOKEN');
    return { kind: 'loopback', discovery: file, port, token };
  }
  return { kind: 'url', url: webAddress('--url', address.url ?? '') };
}

export function readDiscovery(file: string): DiscoveryFile {
  let content: unknown;
  try {
    content = JSON.parse(readInputText(file));
  } catch (error) {
    const missing = error instanceof Error && 'code' in error && error.code === 'ENOENT';
    throw new Error(missing ? `${file}: no such discovery file` : `${file} is no JSON`, { cause: error });
  }
  // A port in quotes still leads there; that it should be an integer is for the check of discovery files to say.
  const usable = withNumericPort(content);
  if (!discoveryFile.is(usable)) {
    const [problem] = discoveryFile.problems(content);
    throw new Error(`${file} is no discovery file: ${problem?.path ?? ''} ${problem?.message ?? ''}`);
  }
  return usable;
}

function withNumericPort(content: unknown): unknown {
  if (typeof content !== 'object' || content === null || !('port' in content)) return content;
  const { port } = content;
  return typeof port === 'string' && /^\d{1,5}$/.test(port) ? { ...content, port: Number(port) } : content;
}

/** The client of a device: base path and credentials as the transport needs them. */
export function deviceClient(transport: DeviceTransport, address: DeviceAddress, redactor: Redactor): HttpClient {
  const recorder = new Recorder(redactor);
  switch (transport.kind) {
    case 'unix':
      return new HttpClient({
        endpoint: { origin: 'http://localhost', socketPath: transport.socketPath },
        basePath: DEVICE_API_PREFIX,
        recorder,
      });
    case 'loopback':
      return new HttpClient({
        endpoint: { origin: `http://127.0.0.1:${transport.port}` },
        basePath: DEVICE_API_PREFIX,
        headers: { authorization: `Bearer ${transport.token}` },
        recorder,
      });
    case 'url': {
      const url = new URL(transport.url);
      redactor.add(address.token, 'MUSTER_TOKEN');
      return new HttpClient({
        endpoint: {
          origin: url.origin,
          ...(address.ca === undefined ? {} : { ca: trusted(address.ca), caFile: address.caFile }),
        },
        basePath: url.pathname === '/' ? DEVICE_API_PREFIX : url.pathname.replace(/\/$/, ''),
        ...(address.token === undefined ? {} : { headers: { authorization: `Bearer ${address.token}` } }),
        recorder,
      });
    }
  }
}

export function webAddress(option: string, text: string): string {
  const url = URL.parse(text);
  if (url === null || !/^https?:$/.test(url.protocol)) {
    throw new UsageError(`${option} ${text}: must be an http:// or https:// address`);
  }
  if (url.username !== '' || url.password !== '') {
    throw new UsageError(`${option}: credentials do not belong into the address`);
  }
  if (url.search !== '' || url.hash !== '') throw new UsageError(`${option} ${text}: must end with the path`);
  return url.href.replace(/\/$/, '');
}

/** Naming an authority replaces the system's, so those are named too. */
export const trusted = (ca: string): string => [...rootCertificates, ca].join('\n');

/** The PEM text of `--ca FILE`. */
export function readCa(file: string | undefined): string | undefined {
  if (file === undefined) return undefined;
  let pem: string;
  try {
    pem = readInputText(file);
  } catch (error) {
    throw new UsageError(`--ca ${file}: cannot be read (${whyNot(error)})`);
  }
  if (!pem.includes('-----BEGIN CERTIFICATE-----')) {
    throw new UsageError(`--ca ${file}: holds no certificate in PEM form`);
  }
  return pem;
}
