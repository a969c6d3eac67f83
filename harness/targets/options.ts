/** Options of the functions that open a target, and the capabilities that they declare. */

import type { HttpClient } from '../client/http.ts';
import type { Redactor } from '../client/redact.ts';
import { nearest, UsageError } from '../common/usage.ts';
import { CAPABILITIES, CAPABILITIES_OF, type Capability } from '../contract/capabilities.ts';
import type { Dialect } from '../contract/versions.ts';
import type { Control } from './control/control.ts';
import type { TargetFile } from './file-schema.ts';
import type { TransportFields } from './transports/index.ts';
import type { Transport } from './transports/transport.ts';

/** Default of `patienceMs`. */
export const PATIENCE_MS = 10_000;

/** How an image is started. Paths are inside the container. */
export interface ImageOptions {
  name: string;
  socket?: string;
  control?: string;
  port?: number;
  args?: readonly string[];
  env?: Record<string, string>;
  user?: string;
}

/** Options that every target shares. */
export interface TargetOptions {
  /** Path of a target file (YAML); the other options win over what it says. */
  target?: string;
  /** PEM file of certificate authorities to trust besides the system's. */
  ca?: string;
  /** Shell line that starts the target; it is ended with all its children. */
  command?: string;
  /** Container image, started through Docker; as in a target file. */
  image?: string | ImageOptions;
  /** Port that the image listens on; it is mapped. */
  port?: number;
  /** Capabilities to declare beside those that are detected. */
  capability?: readonly string[];
  /** File that the tester names as the implementation under test; its SHA-256 goes into the report. */
  artifact?: string;
  /** Declared name of the implementation under test. */
  name?: string;
  /** Declared version of the implementation under test. */
  version?: string;
  redactor: Redactor;
  /** Environment of commands and of `${NAME}` in a target file. Default: this process's. */
  env?: Record<string, string | undefined>;
  /** Milliseconds within which a started target must serve. Default 60 000. */
  startMs?: number;
  /** Milliseconds a check waits for something that should happen at once. Default 10 000. */
  patienceMs?: number;
  /** Milliseconds that the very first answer may take. Default: three times `patienceMs`. */
  firstAnswerMs?: number;
  /** Called with a sentence about what is being waited for. */
  notify?(text: string): void;
  signal?: AbortSignal;
}

/** The fields of the transports (`socket`, `discovery`, `url`; `token` with `url`) say where the device is. */
export interface DeviceTargetOptions extends TargetOptions, TransportFields {
  /** Address of a control API: URL, port or socket path. */
  control?: string;
  /** What a control API over HTTP is sent as `Authorization: Bearer TOKEN`. Default: MUSTER_CONTROL_TOKEN of `env`, or nothing. */
  controlToken?: string;
  /** Makes a control, once the device answers (`--control platform`); what it lacks comes from the others. Throws ControlError. */
  attach?(device: HttpClient): Promise<Control>;
  /** Paths that `{name}` in the command stands for, beside its own places. */
  placeholders?: Readonly<Record<string, string>>;
  /** Default: all that Muster has. */
  transports?: readonly Transport[];
}

/** Options that name a Platform API. Default of the keys: MUSTER_API_KEY and MUSTER_LIMITED_KEY. */
export interface PlatformTargetOptions extends TargetOptions {
  /** `{base_url}` of the specification. */
  url?: string;
  apiKey?: string;
  /** A key without devices:read. */
  limitedKey?: string;
  dialect?: Dialect;
  /** Default: the newest version. */
  apiVersion?: string;
  /** Id of a device that answers a ping. */
  onlineDevice?: string;
  /** Id of a device that does not answer a ping. */
  offlineDevice?: string;
  /** Never writes to this platform. */
  readOnly?: boolean;
}

/** Whether Muster knows a capability of that name. */
export const isCapability = (name: string): name is Capability => (CAPABILITIES as readonly string[]).includes(name);

/**
 * The capabilities of `--capability` and of a target file; a name may hold several, separated by commas. Throws UsageError for
 * the first name that a target of this kind cannot declare.
 */
export function declaredCapabilities(
  kind: keyof typeof CAPABILITIES_OF,
  options: TargetOptions,
  file: Partial<TargetFile>,
): Set<Capability> {
  const accepted = CAPABILITIES_OF[kind];
  const names = (options.capability ?? []).flatMap((name) => name.split(','));
  const unknown = names.find((name) => !accepted.some((one) => one === name));
  if (unknown !== undefined) {
    const near = nearest(unknown, accepted);
    const meant = near === undefined ? '' : `did you mean ${near}? `;
    throw new UsageError(`--capability ${unknown}: ${meant}accepted are ${accepted.join(', ')}`);
  }
  return new Set([...names, ...(file.capabilities ?? [])].filter(isCapability));
}
