import { inVersion } from '../../../harness/contract/platform/operation.ts';
import { RESOURCES } from '../../../harness/contract/platform/operations.ts';
import type { Resource } from '../../platform/behaviour.ts';
import { PlatformError } from '../../platform/ports.ts';
import { firstGiven } from '../define.ts';
import { answers, bodies, defect, keepsFirstNames, resources, unchecked, variant } from '../define-platform.ts';

const SLUG = ['platform.config-type.slug'];
const SLOTS = ['platform.schema.slots'];
const TOKEN = ['platform.provisioning-token'];
const TREE = ['platform.group.tree'];

/** Group of variants that exclude each other, because one refuses lists with fields that the other always shows. */
const UNEXPANDED = { alternative: 'unexpanded fields' };

/** Milliseconds for which a change stays unseen, as if each process had its own copy of the data. */
const STALE_MS = 150;

const unserved = (operation: string, ...refusal: ConstructorParameters<typeof PlatformError>) =>
  bodies((asked) => {
    if (asked === operation) throw new PlatformError(...refusal);
    return [];
  });
const unpatched = (operation: string) => unserved(operation, 405, 'method_not_allowed', 'PATCH is not served here');

const AT_ONCE = 4;

export const defects = [
  defect('slug-patched', 'Changes the slug of a config type.', SLUG, (reference) => ({
    slugPatch: () => 'apply',
    ...unchecked('updateConfigType')(reference),
  })),
  defect('slug-patch-ignored', 'Answers 200 to a new slug, and keeps the old one.', SLUG, (reference) => ({
    slugPatch: () => 'ignore',
    ...unchecked('updateConfigType')(reference),
  })),
  defect(
    'slug-in-capitals-patched',
    'Changes the slug of a config type by the member Slug.',
    SLUG,
    ({ bodyProblems, slugPatch }) => {
      let isApplied = false;
      return {
        bodyProblems: (operation, value, check) => {
          const { Slug: slug } = Object(value) as { Slug?: unknown };
          isApplied = operation === 'updateConfigType' && slug !== undefined;
          if (!isApplied) return bodyProblems(operation, value, check);
          (value as { slug?: unknown }).slug = slug;
          return [];
        },
        slugPatch: (version) => (isApplied ? 'apply' : slugPatch(version)),
      };
    },
  ),
  defect('slots-of-previous-schema', 'Uses the path of the previous schema where slots are omitted.', SLOTS, {
    defaultFilepath: ({ derived, previous }) => previous ?? derived,
  }),
  defect('slots-in-rainier', 'Shows instance_slots to clients of older versions.', SLOTS, {
    downStep: (kind) => kind !== 'config_schema',
  }),
  defect(
    'slots-first-only',
    'Shows the first slot of a schema alone.',
    SLOTS,
    resources('config_schema', (schema) =>
      Array.isArray(schema['instance_slots'])
        ? { ...schema, instance_slots: schema['instance_slots'].slice(0, 1) }
        : schema,
    ),
  ),
  defect('yaml-refused', 'Refuses yaml content.', ['platform.config-instance.yaml'], ({ acceptsFormat }) => ({
    acceptsFormat: (format, version) => format !== 'yaml' && acceptsFormat(format, version),
  })),
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
  defect(
    'expansion-of-the-first',
    'Shows the current deployment of one device for all that have one.',
    ['platform.device.expand'],
    (platform) => {
      const first = firstGiven();
      return resources('device', ({ current_deployment: current, ...rest }) => ({
        ...rest,
        ...(current !== undefined && { current_deployment: current && first(current) }),
      }))(platform);
    },
  ),
  defect(
    'archived-in-rainier',
    'Shows archived devices as archived to clients of older versions.',
    ['platform.device.archived'],
    { downStep: (kind) => kind !== 'device' },
  ),
  defect('group-below-its-grandchild', 'Moves a group below the children of its children.', TREE, {
    mayMoveGroup: (group, line) => !line.slice(0, 2).includes(group),
  }),
  defect('group-below-itself', 'Makes a group its own parent.', TREE, {
    mayMoveGroup: (group, line) => !line.slice(1).includes(group),
  }),
  defect('group-moves-race', 'Lets two moves at the same time make a circle of groups.', TREE, () => {
    const movedAt = new Map<string, number>();
    const isStale = (id: string) => performance.now() - (movedAt.get(id) ?? Number.NEGATIVE_INFINITY) < STALE_MS;
    return {
      mayMoveGroup: (group, line) => {
        const known = line.findIndex(isStale);
        const may = !line.slice(0, known < 0 ? undefined : known + 1).includes(group);
        if (may) movedAt.set(group, performance.now());
        return may;
      },
    };
  }),
  defect(
    'group-rename-undoes-move',
    'Puts a group back where it was when it is renamed while it is moved.',
    TREE,
    () => {
      const shown = new Map<unknown, { parent: unknown; before: unknown; at: number }>();
      const undone = new Map<unknown, unknown>();
      return {
        resource: (kind, resource) => {
          const { id, parent_id: parent } = resource;
          if (kind !== 'group') return resource;
          const last = shown.get(id);
          if (last?.parent !== parent) shown.set(id, { parent, before: last?.parent, at: performance.now() });
          return undone.has(id) ? { ...resource, parent_id: undone.get(id) } : resource;
        },
        answer: (operation, answer) => {
          const { id } = (answer.body ?? {}) as { id?: unknown };
          const last = shown.get(id);
          if (operation === 'moveGroup') undone.delete(id);
          if (operation === 'updateGroup' && last?.before !== undefined && performance.now() - last.at < STALE_MS)
            undone.set(id, last.before);
          return answer;
        },
      };
    },
  ),
  defect(
    'group-rename-lost',
    'Answers a renaming with the new name, and keeps the old one.',
    TREE,
    keepsFirstNames('createGroup', 'getGroup'),
  ),
  defect('membership-written', 'Lets a device be put into a group by PATCH.', TREE, unchecked('updateDevice')),
  defect(
    'membership-fails',
    'Fails when a device is to be put into a group by PATCH.',
    TREE,
    bodies((operation, body) => {
      if (operation === 'updateDevice' && 'group_id' in body) throw new Error('nobody expected a group here');
      return [];
    }),
  ),
  defect(
    'token-without-expiry',
    'Issues provisioning tokens without an expiry.',
    TOKEN,
    answers('createProvisioningToken', ({ token }) => ({ token })),
  ),
  defect('token-in-tetons', 'Issues provisioning tokens in tetons.', TOKEN, { servesForeignOperations: true }),
  defect('token-repeated', 'Issues the same token every time.', TOKEN, (reference) =>
    answers('createProvisioningToken', firstGiven())(reference),
  ),
];

export const variants = [
  variant('slug-patch-refused-always', 'Refuses a new slug in every version.', { slugPatch: () => 'refuse' }),
  variant('lists-show-less', 'Leaves instance_slots out of lists; a single read shows them.', {
    envelope: (envelope) => ({
      ...envelope,
      data: (envelope['data'] as Record<string, unknown>[]).map(({ instance_slots: _slots, ...item }) => item),
    }),
  }),
  variant('content-unchecked', 'Does not check content against its schema.', { validatesContent: false }),
  variant(
    'unexpanded-is-null',
    'Shows unexpanded fields as null.',
    {
      resource: (kind, resource, version) => {
        const names = Object.entries(RESOURCES[kind].expansions).filter(([, each]) => inVersion(each, version));
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
        if (items.some((item) => 'current_release' in item || 'current_deployment' in item))
          throw new PlatformError(400, 'invalid_request', 'expand: lists expand nothing but total_count');
        return envelope;
      },
    },
    UNEXPANDED,
  ),
  variant(
    'group-parent-by-another-name',
    'Calls the parent of a group parent_group_id, and ignores parent_id.',
    (platform) => ({
      resource: (kind, resource) => {
        if (kind !== 'group') return resource;
        const { parent_id: parent, ...rest } = resource;
        return { ...rest, parent_group_id: parent };
      },
      ...bodies((operation, body) => {
        if (operation !== 'createGroup' && operation !== 'moveGroup') return [];
        const { parent_group_id: parent } = body;
        delete body['parent_id'];
        delete body['parent_group_id'];
        if (parent !== undefined) body['parent_id'] = parent;
        return [];
      })(platform),
    }),
  ),
  variant('groups-changed-204', 'Answers 204 without a body when a group is renamed or moved.', ({ answer }) => ({
    answer: (operation, given) => {
      const shown = answer?.(operation, given) ?? given;
      return operation === 'updateGroup' || operation === 'moveGroup' ? { status: 204, body: null } : shown;
    },
  })),
  variant(
    'groups-moved-elsewhere',
    'Moves groups at a path of its own, not at /groups/{id}/move.',
    unserved('moveGroup', 404, 'unknown_route', 'there is nothing at this path'),
  ),
  variant('groups-renamed-elsewhere', 'Renames groups at a path of its own, not by PATCH.', unpatched('updateGroup')),
  variant('devices-not-patched', 'Has no PATCH of a device: the specification names none.', unpatched('updateDevice')),
  variant(
    'tokens-limited',
    `Issues no more than ${AT_ONCE} provisioning tokens that are valid at once.`,
    ({ error }) => {
      let ends: number[] = [];
      return {
        answer: (operation, answer) => {
          if (operation !== 'createProvisioningToken') return answer;
          ends = ends.filter((end) => end > Date.now());
          if (ends.length < AT_ONCE) {
            ends.push(Date.parse(String((answer.body as Resource)['expires_at'])));
            return answer;
          }
          const message = `no more than ${AT_ONCE} at once`;
          return error({ status: 409, code: 'too_many_tokens', params: {}, message });
        },
      };
    },
  ),
];
