/**
 * Lists the sections of the specification, and each sentence that states a demand, with the requirements that decide
 * that sentence. A requirement also decides every sentence that its clause quotes.
 */
import { madeOnce } from '../common/lenient.ts';

const TITLES: Record<string, string> = {
  '1': 'What the service does',
  '2': 'Resources and their fields',
  '2.1': 'Deployment',
  '2.2': 'Enumerations and the merge rule',
  '2.3': 'Event envelope',
  '2.4': 'Payload of deployment.deployed',
  '2.5': 'Ping',
  '2.6': 'List envelope',
  '3': 'States and transitions',
  '4': 'Endpoints',
  '4.1': 'Device API',
  '4.2': 'Platform API',
  '5': 'Authentication',
  '6': 'Events',
  '6.1': 'Frame',
  '6.2': 'Rules of the event stream',
  '6.3': 'Event types',
  '7': 'Errors',
  '8': 'Limits',
  '9': 'Versioning',
};

export const isSection = (section: string): boolean => Object.hasOwn(TITLES, section);

/** Title of the section, or else of its nearest parent section; empty if the specification has neither. */
export const sectionTitle = (section: string): string =>
  TITLES[section] ?? (section.includes('.') ? sectionTitle(section.slice(0, section.lastIndexOf('.'))) : '');

export interface Sentence {
  readonly section: string;
  readonly text: string;
  /** Requirements that decide the sentence although their clause quotes a different sentence. */
  readonly by?: readonly string[];
  readonly open?: string;
}

const DEPLOYMENT = ['device.deployment.shape', 'platform.deployment.shape'];
const PAYLOAD = ['device.events.payload.deployed'];
const ENVELOPE = ['platform.list.envelope'];
const STATUSES = [...DEPLOYMENT, 'device.deployment.merge', 'platform.deployment.merge'];

const of = (
  section: string,
  sentences: readonly (readonly [text: string, how?: Omit<Sentence, 'section' | 'text'>])[],
) => sentences.map(([text, how = {}]): Sentence => ({ section, text, ...how }));

export const SENTENCES: readonly Sentence[] = [
  ...of('2', [
    ['All JSON timestamps are ISO 8601 date-time strings.'],
    ['Every resource carries an `object` field naming its type.'],
  ]),
  ...of('2.1', [
    ['`object` … Always `deployment`.', { by: DEPLOYMENT }],
    ['`id` … Deployment identifier (prefix `dpl_`).', { by: DEPLOYMENT }],
    ['`description` … Description of the deployment.', { by: DEPLOYMENT }],
    ['`status` … Merge of activity and error status.', { by: STATUSES }],
    ['`activity_status` … Last known activity state.', { by: DEPLOYMENT }],
    ['`error_status` … Last known error state.', { by: DEPLOYMENT }],
    ['`target_status` … Desired state.', { by: DEPLOYMENT }],
    ['`device_id` … Device identifier (prefix `dvc_`).', { by: DEPLOYMENT }],
    ['`release_id` … Release identifier (prefix `rls_`).', { by: DEPLOYMENT }],
    ['`created_at` … Creation timestamp.', { by: [...DEPLOYMENT, 'platform.deployment.created'] }],
  ]),
  ...of('2.2', [
    ['DeploymentStatus: `drifted`, `staged`, `queued`, …', { by: STATUSES }],
    ['DeploymentActivityStatus: `drifted`, `staged`, `queued`, …', { by: STATUSES }],
    ['DeploymentErrorStatus: `none`, `failed`, `retrying`', { by: STATUSES }],
    ['DeploymentTargetStatus: `staged`, `deployed`, `archived`', { by: DEPLOYMENT }],
    [
      "`drifted`: The device's configurations changed since the deployment was staged; it must be reviewed before …",
      { by: ['platform.deployment.drifted'] },
    ],
    ['`staged`: Ready to be deployed.', { by: ['platform.deployment.forward-only'] }],
    ['`queued`: Config instances wait to be received by the device and are deployed as soon as the device is online.'],
    ['`deployed`: Config instances are currently available for consumption on the device.'],
    ['`removing`: Config instances are being removed from the device.', { by: ['platform.deployment.removing'] }],
    ['`archived`: Kept for history; cannot be deployed and is not active on the device.'],
    [
      '`retrying` = an error occurred and the agent is retrying to reach the target status',
      { by: ['device.deployment.merge'] },
    ],
    ['`failed` = a fatal error occurred, the deployment is archived and, if it was deployed, removed from the device'],
    ['`status` equals `error_status` when an error is present (`failed` or `retrying`)'],
    ['when `error_status` is `none`, `status` equals `activity_status`'],
  ]),
  ...of('2.3', [
    ['`object` … Always `event`.', { by: ['device.events.envelope'] }],
    ['`id` … Equals the SSE `id`; monotonically increasing.'],
    ['`type` … Event type; equals the SSE `event` field.'],
    ['`occurred_at` … When the event occurred.', { by: ['device.events.envelope'] }],
    ['`data` … Event-specific payload; shape depends on `type`.', { by: ['device.events.envelope', ...PAYLOAD] }],
  ]),
  ...of('2.4', [
    ['Payload of `deployment.deployed`: `deployment_id`, `release_id`, …'],
    ['… `status`, `activity_status`, `error_status`, `target_status`, `deployed_at`', { by: PAYLOAD }],
  ]),
  ...of('2.5', [
    ['Nanoseconds to wait for the ping to complete; maximum is 10 seconds.'],
    ['A success outcome is reported as `success`.'],
    ['Round-trip time in nanoseconds.'],
  ]),
  ...of('2.6', [
    ['`object` … Always `list`.', { by: ENVELOPE }],
    ['Effective page size after clamping.'],
    ['Effective starting index after clamping.'],
    ['True when more items exist beyond this page.'],
    ['Items of the page; length is at most `limit`; each item has its own `object` and `id`.'],
    [
      'Present only when requested with `expand=total_count`; otherwise omitted.',
      { by: ['platform.list.total-count'] },
    ],
  ]),
  ...of('4.1', [
    ['Purpose: return the current deployment of the device.'],
    ['Request: no parameters, no body.'],
    ['Response 200, `application/json`: a Deployment (section 2.1).'],
    ['Purpose: open a long-lived SSE stream of events.'],
    ['`after`: integer (event id)'],
    ['replay starts with retained events after this id (exclusive), then live events follow.'],
    ['Takes precedence over the header.'],
    ['`types`: Comma-separated list of event types; when omitted all types are sent.'],
    ['`Last-Event-ID: <id>` (optional) carries the cursor, with the same semantics as `after`.'],
    ['Response 200: SSE stream (frame format in section 6).'],
    ['Response 410: the cursor is older than the earliest retained event.', { by: ['device.events.expired.410'] }],
  ]),
  ...of('4.2', [
    ['Purpose: check connectivity with a device.'],
    ['Path parameter: `device_id` (string, device identifier).'],
    ['Headers: `Content-Type: application/json`, `Service-Version: <version>`, `X-API-Key: <API_KEY>`.'],
    ['Body: JSON object with `timeout_nanos` (integer, at most 10 seconds expressed in nanoseconds).'],
    ['Response 200, `application/json`: object with `code` and `round_trip_nanos`', { by: ['platform.ping.success'] }],
    ['Required scope: `devices:read`.', { by: ['platform.auth.scope'] }],
    ['Method GET on a collection path under `{base_url}`'],
    ['Query parameters: `limit` (integer), `offset` (integer), optional `expand=total_count`.'],
    ['Response 200: the list envelope (section 2.6).', { by: ENVELOPE }],
  ]),
  ...of('5', [
    ['Unix domain socket at `{socket_path}`: No token is used.'],
    ['Access is governed by the file permissions on the socket; the client needs permission to open it.'],
    ['The client reads a JSON discovery file at `{discovery_file}` containing `port` and `token`'],
    ['connects to `127.0.0.1` on that port'],
    ['sends `Authorization: Bearer <ACCESS_TOKEN>`. Required.'],
    ['two alternatives: no credential, or the bearer token (HTTP bearer scheme)'],
    ['Requests carry the header `X-API-Key: <API_KEY>`.'],
    ['Endpoints require scopes; ping requires `devices:read`.'],
  ]),
  ...of('6', [
    ['served by an agent running on the device, for clients on the same device'],
    ['Events exist on the Device API only, as an SSE stream at `/events`.', { by: ['device.events.content-type'] }],
  ]),
  ...of('6.1', [
    ['`id`: Monotonically increasing integer; the replay cursor.'],
    ['`event`: Type string of form `{resource}.{action}`.'],
    ['`data`: JSON event envelope (section 2.3).'],
  ]),
  ...of('6.2', [
    ['Delivery is at-least-once; after a reconnection the replay window may repeat events already seen.'],
    ['Clients may deduplicate by `id`.'],
    ['Replay after a cursor is exclusive of the cursor, then live events follow.'],
    ['The agent sends a comment line `: heartbeat` roughly every 30 seconds'],
    ['clients ignore comment lines'],
    ['Event types are of the form `{resource}.{action}` with no per-event version suffix'],
    ['the set of types belongs to the API version of the endpoint'],
    ['Events are stored on the device as JSONL.'],
    ['The log is compacted to bound disk use; cursors pointing at compacted events become invalid and yield 410.'],
    ['Clients dispatch on the envelope `type`.'],
  ]),
  ...of('6.3', [
    ["`deployment.deployed`: The deployment's config instances have been written to the device's file system."],
    ['`deployment.removed`: Named as a type; trigger is not stated.'],
  ]),
  ...of('7', [
    ['410 … The cursor (`after` or `Last-Event-ID`) is older than the earliest retained event.'],
    ['Out-of-range `limit` or `offset` on list endpoints is not an error; it is clamped (section 8).'],
  ]),
  ...of('8', [
    ['`limit` default … 10', { by: ['platform.list.defaults'] }],
    ['`limit` maximum … 100', { by: ['platform.list.clamp.high'] }],
    ['`offset` default … 0', { by: ['platform.list.defaults'] }],
    ['`offset` minimum … 0', { by: ['platform.list.clamp.offset'] }],
    ['`timeout_nanos` maximum … 10 seconds', { by: ['platform.ping.limit'] }],
    ['Heartbeat interval … about 30 seconds', { by: ['device.events.heartbeat'] }],
    ['An invalid `limit` is replaced by the nearest valid value (a value above the maximum yields 100).'],
    ['An invalid `offset` is replaced by the nearest valid value (a negative value yields 0).'],
    ['Page n+1 is requested with the same `limit` and `offset = offset + limit`, until `has_more` is false.'],
    ['`total_count` is computed only when `expand=total_count` is given, because counting is costly.'],
    [
      'Pagination is offset-based; cursor-based pagination is announced for the future.',
      { open: 'It describes and announces; nothing follows for a server or a client.' },
    ],
  ]),
  ...of('9', [
    ['The version prefix is part of the path: `/v0.2`.'],
    [
      'SSE events are available from release v0.2.1 and are versioned with the Device API',
      { by: ['device.version.prefix'] },
    ],
    ['a minor bump may break compatibility and a patch bump is backward-compatible'],
    ['`{base_url}` contains the path segment `beta`.', { by: ['platform.list.collections'] }],
    ['The header `Service-Version` carries the API version the client was built against.'],
    ['Format: `<YYYY-MM-DD>.<codename>`.'],
    ['`2025-10-21.zion`: Initial release; no longer supported.'],
    [
      '`2026-03-09.tetons`: Introduces versioning; config types, schemas and instances; …',
      { by: ['platform.version.supported'] },
    ],
    [
      'explicit deployment lifecycle actions',
      { by: ['platform.deployment.forward-only', 'platform.deployment.archived-final'] },
    ],
    ['Provisioning tokens replace the activation-token endpoint'],
    ['`yaml` content format for config instances'],
    ['the `removing` deployment status is restored'],
    ['devices can expand `current_release` and `current_deployment` via `expand`'],
    ["Device groups (create, rename, move; a device's group membership is read-only)"],
    [
      'config schemas use `instance_slots[].filepath` instead of `instance_filepath`',
      { by: ['platform.schema.slots'] },
    ],
    ['deployments report queued, deployed and archived timestamps'],
    ['devices report an `archived` status'],
    ['an omitted `instance_slots` makes the server derive a default filepath instead of reusing a previous one'],
    ['`PATCH /config_types/{config_type_id}` does not accept `slug`; slugs are immutable.'],
    ['`parent_id` may be omitted or a deployment id; `null` asserts that the device has no current target deployment.'],
  ]),
];

const BETWEEN = / … | \| /;
/** Characters of the shortest part that counts, because a shorter part, such as a number, could match by accident. */
const LEAST_CHARACTERS = 12;

/** Caches parts, because every sentence is compared with every clause. */
const PARTS = new Map<string, readonly string[]>();

const parts = (text: string): readonly string[] =>
  madeOnce(PARTS, text, () =>
    text
      .split(BETWEEN)
      .map((part) => part.replaceAll(/^… |[.;,…]+$/g, '').trim())
      .filter((part) => part.length >= LEAST_CHARACTERS),
  );

export function deciding<R extends { id: string; clause?: string }>(
  { text, by }: Sentence,
  requirements: readonly R[],
): R[] {
  const own = parts(text);
  const quotes = (part: string): boolean =>
    text.includes(part) || (own.length > 0 && own.every((each) => part.includes(each)));
  return requirements.filter(({ id, clause = '' }) => by?.includes(id) === true || parts(clause).some(quotes));
}
