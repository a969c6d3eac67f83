/** Provisions devices by tokens, of which the database keeps only digests. */
import { hash, randomBytes, randomUUID } from 'node:crypto';
import { timestamp } from '../../common/clock.ts';
import type { Core } from '../core.ts';
import { type Credentials, PlatformError } from '../ports.ts';
import type { DeviceRow } from '../store/rows.ts';
import { advance } from './deployments.ts';
import { createDevice } from './devices.ts';
import { conflict, findRow } from './find.ts';

interface Token {
  digest: string;
  device_id: string | null;
  reactivates: number;
  expires_at: string;
}

const digestOf = (token: string): string => hash('sha256', token, 'hex');

export function issueToken(core: Core, bound?: { deviceId: string; reactivates: boolean }) {
  if (bound !== undefined) findRow(core, 'device', bound.deviceId);
  const token = `prov_${randomBytes(24).toString('base64url')}`;
  const expiresAt = new Date(core.clock.now() + 5 * 60_000).toISOString();
  core.store.write(() => {
    core.store
      .prepare('DELETE FROM token_uses WHERE digest IN (SELECT digest FROM tokens WHERE expires_at < ?)')
      .run(now(core));
    core.store.prepare('DELETE FROM tokens WHERE expires_at < ?').run(now(core));
    core.store
      .prepare('INSERT INTO tokens (digest, device_id, reactivates, expires_at) VALUES (?, ?, ?, ?)')
      .run(digestOf(token), bound?.deviceId ?? null, bound?.reactivates ? 1 : 0, expiresAt);
  });
  return { token, expires_at: expiresAt };
}

export function provision(core: Core, text: string, name: string, credentials: Credentials): DeviceRow {
  const token = validToken(core, text);
  const bound = token.device_id === null ? undefined : findRow(core, 'device', token.device_id);
  const known = bound ?? core.store.collections.device.first({ name });
  if (known !== undefined && known.status !== 'inactive' && token.reactivates === 0)
    throw conflict('device_provisioned', `the device ${JSON.stringify(known.name)} is provisioned already`);
  if (known?.status === 'archived') throw conflict('device_archived', 'the device is archived');
  return core.store.write(() => {
    const device = known ?? createDevice(core, { name });
    const use = [token.digest, device.id];
    if (core.store.prepare('SELECT 1 FROM token_uses WHERE digest = ? AND device_id = ?').get(...use) !== undefined)
      throw conflict('token_spent', 'the provisioning token has been used for this device');
    core.store.prepare('INSERT INTO token_uses (digest, device_id) VALUES (?, ?)').run(...use);
    return enrol(core, device, credentials);
  });
}

export function reprovision(core: Core, text: string, credentials: Credentials): DeviceRow {
  const token = validToken(core, text);
  const uses = core.store.prepare('SELECT device_id FROM token_uses WHERE digest = ?').all(token.digest);
  const deviceId = token.device_id ?? (uses.length === 1 ? String(uses[0]?.['device_id']) : undefined);
  if (deviceId === undefined)
    throw new PlatformError(403, 'token_not_bound', 'this provisioning token belongs to no one device');
  const device = findRow(core, 'device', deviceId);
  if (device.status === 'archived') throw conflict('device_archived', 'the device is archived');
  const enrolled = core.store.write(() => enrol(core, device, credentials));
  core.messenger.disconnect(device.id);
  return enrolled;
}

function enrol(core: Core, device: DeviceRow, { agent_version, public_key_pem, fingerprint }: Credentials): DeviceRow {
  const { device: devices, deployment: deployments } = core.store.collections;
  const owner = devices.first({ key_fingerprint: fingerprint });
  if (owner !== undefined && owner.id !== device.id)
    throw conflict('key_in_use', 'another device is provisioned with this key');
  const target = device.target_deployment_id === null ? undefined : deployments.byId(device.target_deployment_id);
  if (target !== undefined && target.activity_status !== 'queued') {
    const queued = advance(core, { ...target, deployed_at: null }, { activity_status: 'queued' });
    deployments.update(queued, { deployed_at: null });
  }
  return devices.update(device, {
    status: 'activating',
    agent_version,
    public_key_pem,
    key_fingerprint: fingerprint,
    session_id: randomUUID(),
    current_deployment_id: null,
    current_release_id: null,
    updated_at: now(core),
  });
}

function validToken(core: Core, text: string): Token {
  const row = core.store.prepare('SELECT * FROM tokens WHERE digest = ?').get(digestOf(text));
  const token = row as unknown as Token | undefined;
  if (token === undefined || token.expires_at <= now(core))
    throw new PlatformError(401, 'invalid_token', 'the provisioning token is unknown or has expired');
  return token;
}

const now = (core: Core): string => timestamp(core.clock);
