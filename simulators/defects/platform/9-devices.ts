import { inVersion } from '../../../harness/contract/platform/operation.ts';
import { RESOURCES } from '../../../harness/contract/platform/operations.ts';
import { NEWEST_VERSION } from '../../../harness/contract/versions.ts';
import type { Resource } from '../../platform/behaviour.ts';
import { PlatformError } from '../../platform/ports.ts';
import { defect, resources, variant } from '../define-platform.ts';

const ARCHIVED = ['platform.device.archived'];

export const defects = [
  defect('expansions-unasked', 'Expands releases that nobody asked for.', ['platform.device.expand'], {
    expandsAlways: true,
  }),
  defect(
    'expansion-archived',
    'Shows the current deployment of a device as archived.',
    ['platform.device.expand'],
    resources('device', ({ current_deployment: current, ...rest }) => ({
      ...rest,
      ...(current !== undefined && {
        current_deployment: current && { ...(current as Resource), activity_status: 'archived', status: 'archived' },
      }),
    })),
  ),
  defect('offline-in-older', 'Shows every device as offline to clients of older versions.', ARCHIVED, {
    resource: (kind, resource, version) =>
      kind === 'device' && version !== NEWEST_VERSION ? { ...resource, status: 'offline' } : resource,
  }),
  defect('archived-in-rainier', 'Shows archived devices as archived to clients of older versions.', ARCHIVED, {
    downStep: (kind) => kind !== 'device',
  }),
];

/** Makes the variants below exclude each other, because each shows unexpanded fields differently. */
const UNEXPANDED = { alternative: 'unexpanded fields' };

export const variants = [
  variant(
    'unexpanded-is-null',
    'Shows unexpanded fields as null.',
    {
      resource: (kind, resource, version) => {
        const names = Object.entries(RESOURCES[kind].expansions).filter(([, expansion]) =>
          inVersion(expansion, version),
        );
        return { ...Object.fromEntries(names.map(([name]) => [name, null])), ...resource };
      },
    },
    UNEXPANDED,
  ),
  variant(
    'lists-expand-no-resources',
    'Expands a single device, but refuses to expand lists of devices.',
    {
      envelope: (envelope) => {
        const items = envelope['data'] as Record<string, unknown>[];
        if (items.some((item) => 'current_release' in item || 'current_deployment' in item)) {
          throw new PlatformError(400, 'invalid_request', 'expand: lists expand nothing but total_count');
        }
        return envelope;
      },
    },
    UNEXPANDED,
  ),
];
