import { badMethodIs404 } from './bad-method-is-404.ts';
import { beforeEarliestExpired } from './before-earliest-expired.ts';
import { blocksWithoutData } from './blocks-without-data.ts';
import { byteByByte } from './byte-by-byte.ts';
import { byteOrderMark } from './byte-order-mark.ts';
import { charsetNamed } from './charset-named.ts';
import { closesEachConnection } from './closes-each-connection.ts';
import { commentsBetweenHeartbeats } from './comments-between-heartbeats.ts';
import { dataInLines } from './data-in-lines.ts';
import { endsLongStreams } from './ends-long-streams.ts';
import { extraFields } from './extra-fields.ts';
import { fewStreams } from './few-streams.ts';
import { fewStreamsRetryAfter } from './few-streams-retry-after.ts';
import { fieldsInOtherOrder } from './fields-in-other-order.ts';
import { futureCursorRefused } from './future-cursor-refused.ts';
import { heartbeatUnspaced } from './heartbeat-unspaced.ts';
import { heartbeatWhenIdle } from './heartbeat-when-idle.ts';
import { idsStartHigh } from './ids-start-high.ts';
import { idsWithGaps } from './ids-with-gaps.ts';
import { keysInOtherOrder } from './keys-in-other-order.ts';
import { lineEndsCr } from './line-ends-cr.ts';
import { lineEndsCrlf } from './line-ends-crlf.ts';
import { malformedIs422 } from './malformed-is-422.ts';
import { noDeploymentIs503 } from './no-deployment-is-503.ts';
import { otherErrorBodies } from './other-error-bodies.ts';
import { otherEventTypes } from './other-event-types.ts';
import { removedNeverSent } from './removed-never-sent.ts';
import { removedWithoutPayload } from './removed-without-payload.ts';
import { replayWithoutCursor } from './replay-without-cursor.ts';
import { retryField } from './retry-field.ts';
import { saysWhenItAnswered } from './says-when-it-answered.ts';
import { silentAtOpen } from './silent-at-open.ts';
import { timesInSeconds } from './times-in-seconds.ts';
import { timesWithOffset } from './times-with-offset.ts';
import type { DeviceVariant } from './types.ts';
import { unauthorizedIs403 } from './unauthorized-is-403.ts';
import { unknownTypesRefused } from './unknown-types-refused.ts';
import { zeroMeansEarliest } from './zero-means-earliest.ts';

export const deviceVariants: readonly DeviceVariant[] = [
  unauthorizedIs403,
  otherErrorBodies,
  malformedIs422,
  badMethodIs404,
  unknownTypesRefused,
  charsetNamed,
  extraFields,
  otherEventTypes,
  removedNeverSent,
  removedWithoutPayload,
  replayWithoutCursor,
  beforeEarliestExpired,
  zeroMeansEarliest,
  futureCursorRefused,
  silentAtOpen,
  heartbeatWhenIdle,
  heartbeatUnspaced,
  byteByByte,
  lineEndsCrlf,
  lineEndsCr,
  dataInLines,
  fieldsInOtherOrder,
  keysInOtherOrder,
  retryField,
  byteOrderMark,
  idsStartHigh,
  idsWithGaps,
  timesWithOffset,
  timesInSeconds,
  saysWhenItAnswered,
  closesEachConnection,
  fewStreams,
  fewStreamsRetryAfter,
  commentsBetweenHeartbeats,
  blocksWithoutData,
  noDeploymentIs503,
  endsLongStreams,
];

/** Throws RangeError that names the known ones. */
export function deviceVariant(name: string): DeviceVariant {
  const found = deviceVariants.find((variant) => variant.name === name);
  if (found) return found;
  const known = deviceVariants.map((variant) => variant.name).join(', ');
  throw new RangeError(`no variant of the device is called ${JSON.stringify(name)}; known: ${known}`);
}

export type { DeviceVariant } from './types.ts';
