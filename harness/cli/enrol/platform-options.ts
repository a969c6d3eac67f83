/** What Muster's own platform is like, in which an agent enrols: options, and the same as fields of a target file. */
import { UsageError } from '../../common/usage.ts';
import type { Dialect } from '../../contract/versions.ts';
import type { TargetFile } from '../../targets/file-schema.ts';

/** As the agent reaches it. */
export interface OwnPlatform {
  dialect?: Dialect;
  /** Of the agent API. Default: a free one. */
  port?: number;
  /** Of the broker. Default: a free one. */
  mqttPort?: number;
  /** Both over TLS, by an authority made for the run. */
  tls?: boolean;
  /** Path of the agent's Device API that makes it ask the platform at once. */
  syncPath?: string;
}

/** The options as they were parsed. */
export interface OwnPlatformArguments {
  dialect?: Dialect | undefined;
  'platform-port'?: number | undefined;
  'mqtt-port'?: number | undefined;
  'platform-tls': boolean;
}

/** Options win over the target file. */
export function ownPlatform(args: OwnPlatformArguments, file: Partial<TargetFile> | undefined): OwnPlatform {
  const { dialect, port, mqtt_port: mqttPort, tls, sync_path: syncPath } = file?.control?.platform ?? {};
  const chosen = {
    dialect: args.dialect ?? dialect,
    port: args['platform-port'] ?? port,
    mqttPort: args['mqtt-port'] ?? mqttPort,
    tls: args['platform-tls'] || tls,
    syncPath,
  };
  return Object.fromEntries(Object.entries(chosen).filter(([, value]) => value !== undefined)) as OwnPlatform;
}

/** Throws UsageError for the first option that only Muster's own platform takes. `except`: options that mean something else here. */
export function refuseOwnPlatform(args: OwnPlatformArguments, instead: string, except: readonly string[] = []): void {
  const given = (['dialect', 'platform-port', 'mqtt-port', 'platform-tls'] as const).find(
    (name) => args[name] !== undefined && args[name] !== false && !except.includes(name),
  );
  if (given !== undefined) throw new UsageError(`--${given}: is about Muster's own platform; ${instead}`);
}
