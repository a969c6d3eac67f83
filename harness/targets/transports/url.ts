/** The Device API at a URL, e.g. behind a proxy or in a container with a mapped port. */

import { HttpClient } from '../../client/http.ts';
import type { Recorder } from '../../client/recorder.ts';
import { tls } from '../../common/node-tls.ts';
import { UsageError } from '../../common/usage.ts';
import { readInputText, whyNot } from '../../common/user-files.ts';
import { DEVICE_API_PREFIX } from '../../contract/versions.ts';
import { accepts, type Connection, type Given, type Transport } from './transport.ts';

/** An address that leads nowhere: nothing serves port 1 of loopback. */
export const NOWHERE = 'http://127.0.0.1:1';

/** Named by a base URL, with a bearer token where the agent wants one. */
export const url = {
  name: 'url',
  fields: {
    url: { help: `Base URL, with or without ${DEVICE_API_PREFIX}`, description: 'Base address' },
    token: {
      help: 'Bearer token for --url; or MUSTER_TOKEN in the environment',
      description: 'Bearer token, with url',
      variable: 'MUSTER_TOKEN',
    },
  },
  addressField: 'url',
  usage: '--url URL',
  accepts: (address) => {
    const { hostname, port, protocol } = new URL(address);
    return accepts({ host: hostname, port: Number(port || (protocol === 'https:' ? 443 : 80)) });
  },
  served: (address) => address,
  open: (given): UrlConnection => new UrlConnection(given),
} as const satisfies Transport;

/** A Device API behind a URL: the base path is that of the URL, `/v0.2` without one. */
export class UrlConnection implements Connection {
  readonly kind = 'url';
  readonly address: string;
  readonly capabilities = [];
  /** The buffers of TCP on loopback grow to several MiB. */
  readonly bufferBytes = 4_500_000;
  readonly #given: Given;

  constructor(given: Given) {
    this.address = webAddress('--url', given.address);
    this.#given = given;
  }

  get hint(): string {
    return `Try: curl -i ${this.address}/deployments/current`;
  }

  client(recorder: Recorder): HttpClient {
    const { origin, pathname } = new URL(this.address);
    const { fields, ca, caFile } = this.#given;
    const { token } = fields;
    return new HttpClient({
      endpoint: { origin, ...(ca === undefined ? {} : { ca: withSystemAuthorities(ca), caFile }) },
      basePath: pathname === '/' ? DEVICE_API_PREFIX : pathname.replace(/\/$/, ''),
      ...(token === undefined ? {} : { headers: { authorization: `Bearer ${token}` } }),
      recorder,
    });
  }

  relocate(): Promise<this> {
    return Promise.resolve(this);
  }
}

/** The URL without a slash at its end. Throws UsageError unless it is an http(s) URL of scheme, host and path alone. */
export function webAddress(option: string, text: string): string {
  const parsed = URL.parse(text);
  if (parsed === null || !/^https?:$/.test(parsed.protocol)) {
    throw new UsageError(`${option} ${text}: must be an http:// or https:// address`);
  }
  if (parsed.username !== '' || parsed.password !== '') {
    throw new UsageError(`${option}: credentials do not belong into the address`);
  }
  if (parsed.search !== '' || parsed.hash !== '') throw new UsageError(`${option} ${text}: must end with the path`);
  return parsed.href.replace(/\/$/, '');
}

/** PEM of `ca` and the system's authorities: naming an authority to TLS replaces those. */
export const withSystemAuthorities = (ca: string): string => [...tls.rootCertificates, ca].join('\n');

/** The PEM text of `--ca FILE`. Throws UsageError. */
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
