/** A target that Muster starts itself: by a command, or from an image. */
import type { StopSignal } from '../../contract/control.ts';
import type { DeviceAddress } from '../transports/transport.ts';

export interface Started {
  /** `command` or `image`. */
  kind: string;
  address: DeviceAddress;
  /** Address of a control API that it announced. */
  control?: string;
  /** Present when Muster itself can stop and start it. */
  restart?: { stop(signal: StopSignal): Promise<void>; start(): Promise<void> };
  /** `sha256:…` of the image. */
  digest?: string;
  /** The end of what it wrote. */
  diagnostics(): string;
  close(): Promise<void>;
}

export interface StartOptions {
  env: Record<string, string | undefined>;
  timeoutMs: number;
  notify(text: string): void;
  signal?: AbortSignal | undefined;
}
