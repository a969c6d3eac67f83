import { badEscapeFails } from './bad-escape-fails.ts';
import { badMethodFails } from './bad-method-fails.ts';
import { badMethodHangs } from './bad-method-hangs.ts';
import { batchReversed } from './batch-reversed.ts';
import { boundaryByTypes } from './boundary-by-types.ts';
import { boundaryOffByOne } from './boundary-off-by-one.ts';
import { boundaryTooLenient } from './boundary-too-lenient.ts';
import { closesIdleStreams } from './closes-idle-streams.ts';
import { compactionDropsNewest } from './compaction-drops-newest.ts';
import { currentIsTheFirst } from './current-is-the-first.ts';
import { cursorMovesBack } from './cursor-moves-back.ts';
import { deployedForEveryState } from './deployed-for-every-state.ts';
import { deployedToldTwice } from './deployed-told-twice.ts';
import { deployedUntoldWithError } from './deployed-untold-with-error.ts';
import { deployedWhenQueued } from './deployed-when-queued.ts';
import { deploymentAsText } from './deployment-as-text.ts';
import { deploymentIdsBare } from './deployment-ids-bare.ts';
import { deploymentObjectMissing } from './deployment-object-missing.ts';
import { deploymentStatusCapitals } from './deployment-status-capitals.ts';
import { deploymentTimeAsNumber } from './deployment-time-as-number.ts';
import { deploymentTimeNotIso } from './deployment-time-not-iso.ts';
import { deploymentWithoutTarget } from './deployment-without-target.ts';
import { deploymentWrapped } from './deployment-wrapped.ts';
import { deploymentsForgotten } from './deployments-forgotten.ts';
import { deviceIdAnew } from './device-id-anew.ts';
import { discoveryOtherNames } from './discovery-other-names.ts';
import { discoveryPortAsText } from './discovery-port-as-text.ts';
import { discoveryTokenStale } from './discovery-token-stale.ts';
import { discoveryWithoutToken } from './discovery-without-token.ts';
import { envelopeDataAsText } from './envelope-data-as-text.ts';
import { envelopeIdAsText } from './envelope-id-as-text.ts';
import { envelopeIdDiffers } from './envelope-id-differs.ts';
import { envelopeObjectWrong } from './envelope-object-wrong.ts';
import { envelopeTimeLocal } from './envelope-time-local.ts';
import { envelopeTypeShort } from './envelope-type-short.ts';
import { eventBeforeFiles } from './event-before-files.ts';
import { eventsAsJson } from './events-as-json.ts';
import { eventsCached } from './events-cached.ts';
import { eventsTwice } from './events-twice.ts';
import { everyMethodReads } from './every-method-reads.ts';
import { expiredByQueryOnly } from './expired-by-query-only.ts';
import { expiredIsLive } from './expired-is-live.ts';
import { expiredNotFound } from './expired-not-found.ts';
import { expiredReplaysEarliest } from './expired-replays-earliest.ts';
import { expiredUntilRestart } from './expired-until-restart.ts';
import { expiredWithTypesIsLive } from './expired-with-types-is-live.ts';
import { failedStays } from './failed-stays.ts';
import { fewConnections } from './few-connections.ts';
import { fileKeptWhenThere } from './file-kept-when-there.ts';
import { filesAsciiOnly } from './files-ascii-only.ts';
import { filesFlat } from './files-flat.ts';
import { firstEventWithoutCursorLost } from './first-event-without-cursor-lost.ts';
import { firstLiveEventLost } from './first-live-event-lost.ts';
import { frameIdPrefixed } from './frame-id-prefixed.ts';
import { framePayloadOnly } from './frame-payload-only.ts';
import { frameWithoutEvent } from './frame-without-event.ts';
import { frameWithoutId } from './frame-without-id.ts';
import { futureCursorExpired } from './future-cursor-expired.ts';
import { futureCursorReplaysAll } from './future-cursor-replays-all.ts';
import { headerIgnored } from './header-ignored.ts';
import { headerInclusive } from './header-inclusive.ts';
import { headerWins } from './header-wins.ts';
import { heartbeatAsEvent } from './heartbeat-as-event.ts';
import { heartbeatCarriesId } from './heartbeat-carries-id.ts';
import { heartbeatClearsCursor } from './heartbeat-clears-cursor.ts';
import { heartbeatEndsAtRestart } from './heartbeat-ends-at-restart.ts';
import { heartbeatLate } from './heartbeat-late.ts';
import { heartbeatNone } from './heartbeat-none.ts';
import { heartbeatOtherText } from './heartbeat-other-text.ts';
import { heartbeatUnfilteredOnly } from './heartbeat-unfiltered-only.ts';
import { hugeCursorWraps } from './huge-cursor-wraps.ts';
import { idsCountedFromTheLog } from './ids-counted-from-the-log.ts';
import { idsRestartAtOne } from './ids-restart-at-one.ts';
import { idsReusedAfterRestart } from './ids-reused-after-restart.ts';
import { idsSharedByTwo } from './ids-shared-by-two.ts';
import { largerCursorWins } from './larger-cursor-wins.ts';
import { logEmptiedAtRestart } from './log-emptied-at-restart.ts';
import { logNeverCompacted } from './log-never-compacted.ts';
import { logWithComments } from './log-with-comments.ts';
import { longDataCut } from './long-data-cut.ts';
import { loopbackAnyScheme } from './loopback-any-scheme.ts';
import { loopbackOnEveryAddress } from './loopback-on-every-address.ts';
import { loopbackSchemeCase } from './loopback-scheme-case.ts';
import { loopbackTokenAnyCase } from './loopback-token-any-case.ts';
import { loopbackTokenByLength } from './loopback-token-by-length.ts';
import { loopbackTokenInQuery } from './loopback-token-in-query.ts';
import { loopbackTokenOptional } from './loopback-token-optional.ts';
import { loopbackTokenPrefix } from './loopback-token-prefix.ts';
import { malformedCrashes } from './malformed-crashes.ts';
import { malformedIsExpired } from './malformed-is-expired.ts';
import { malformedIsNone } from './malformed-is-none.ts';
import { malformedReadLoosely } from './malformed-read-loosely.ts';
import { newlinesRaw } from './newlines-raw.ts';
import { nonAsciiLost } from './non-ascii-lost.ts';
import { oneSubscriber } from './one-subscriber.ts';
import { payloadReleaseBefore } from './payload-release-before.ts';
import { payloadStatusIsActivity } from './payload-status-is-activity.ts';
import { payloadStatusUnmerged } from './payload-status-unmerged.ts';
import { payloadWithoutStatuses } from './payload-without-statuses.ts';
import { payloadWithoutTime } from './payload-without-time.ts';
import { readTouchesDeployment } from './read-touches-deployment.ts';
import { removedFilesStay } from './removed-files-stay.ts';
import { replayCapped } from './replay-capped.ts';
import { replayInclusive } from './replay-inclusive.ts';
import { replayLimited } from './replay-limited.ts';
import { replayNeverEndsLive } from './replay-never-ends-live.ts';
import { replayNewestFirst } from './replay-newest-first.ts';
import { replaySkipsFirst } from './replay-skips-first.ts';
import { replaySkipsNewest } from './replay-skips-newest.ts';
import { replayWithNewTime } from './replay-with-new-time.ts';
import { restartLoadsFew } from './restart-loads-few.ts';
import { retainedRefused } from './retained-refused.ts';
import { seamGap } from './seam-gap.ts';
import { seamGapAfterLongReplay } from './seam-gap-after-long-replay.ts';
import { sentIsDelivered } from './sent-is-delivered.ts';
import { separatorsBreakLines } from './separators-break-lines.ts';
import { slowReaderBlocks } from './slow-reader-blocks.ts';
import { slowReaderThinnedOut } from './slow-reader-thinned-out.ts';
import { smallerCursorWins } from './smaller-cursor-wins.ts';
import { socketGivenAway } from './socket-given-away.ts';
import { statusArchivedFirst } from './status-archived-first.ts';
import { statusForgetsRetrying } from './status-forgets-retrying.ts';
import { statusFromActivity } from './status-from-activity.ts';
import { storedAfterDelivery } from './stored-after-delivery.ts';
import { subscribersLeak } from './subscribers-leak.ts';
import { subscribersTakeTurns } from './subscribers-take-turns.ts';
import { tokenOnSocket } from './token-on-socket.ts';
import { tornLineEmptiesLog } from './torn-line-empties-log.ts';
import { tornLineGlued } from './torn-line-glued.ts';
import { typeUnderscore } from './type-underscore.ts';
import { typeWithVersion } from './type-with-version.ts';
import type { DeviceDefect } from './types.ts';
import { typesByPrefix } from './types-by-prefix.ts';
import { typesByResource } from './types-by-resource.ts';
import { typesCommaUndecoded } from './types-comma-undecoded.ts';
import { typesFirstOnly } from './types-first-only.ts';
import { typesIgnored } from './types-ignored.ts';
import { typesIgnoredInReplay } from './types-ignored-in-replay.ts';
import { typesIgnoredLive } from './types-ignored-live.ts';
import { typesLoseHeader } from './types-lose-header.ts';
import { typesNeedACursor } from './types-need-a-cursor.ts';
import { typesRenumber } from './types-renumber.ts';
import { typesSwallowReplay } from './types-swallow-replay.ts';
import { typesUndecoded } from './types-undecoded.ts';
import { unknownPathServes } from './unknown-path-serves.ts';
import { unknownQueryRefused } from './unknown-query-refused.ts';
import { versionOfTheRelease } from './version-of-the-release.ts';
import { versionPrefixOptional } from './version-prefix-optional.ts';
import { zeroIsNoCursor } from './zero-is-no-cursor.ts';
import { zeroLosesToHeader } from './zero-loses-to-header.ts';

/** By section of the specification. */
export const deviceDefects: readonly DeviceDefect[] = [
  tokenOnSocket,
  socketGivenAway,
  discoveryTokenStale,
  loopbackTokenOptional,
  loopbackTokenPrefix,
  loopbackAnyScheme,
  loopbackSchemeCase,
  loopbackOnEveryAddress,
  versionPrefixOptional,
  versionOfTheRelease,
  deploymentWithoutTarget,
  deploymentTimeAsNumber,
  deploymentTimeNotIso,
  deploymentIdsBare,
  deploymentStatusCapitals,
  deploymentObjectMissing,
  deploymentWrapped,
  deploymentAsText,
  statusFromActivity,
  statusForgetsRetrying,
  statusArchivedFirst,
  failedStays,
  removedFilesStay,
  deploymentsForgotten,
  readTouchesDeployment,
  unknownQueryRefused,
  currentIsTheFirst,
  eventsAsJson,
  eventsCached,
  frameWithoutId,
  frameWithoutEvent,
  frameIdPrefixed,
  framePayloadOnly,
  envelopeIdAsText,
  envelopeIdDiffers,
  envelopeTypeShort,
  envelopeObjectWrong,
  envelopeTimeLocal,
  envelopeDataAsText,
  typeWithVersion,
  typeUnderscore,
  payloadWithoutTime,
  payloadWithoutStatuses,
  payloadStatusUnmerged,
  batchReversed,
  eventsTwice,
  cursorMovesBack,
  replayInclusive,
  replaySkipsFirst,
  replaySkipsNewest,
  replayLimited,
  replayNewestFirst,
  replayWithNewTime,
  replayNeverEndsLive,
  seamGap,
  firstLiveEventLost,
  sentIsDelivered,
  headerIgnored,
  headerInclusive,
  headerWins,
  largerCursorWins,
  smallerCursorWins,
  zeroIsNoCursor,
  malformedIsNone,
  malformedIsExpired,
  malformedReadLoosely,
  malformedCrashes,
  hugeCursorWraps,
  expiredReplaysEarliest,
  expiredIsLive,
  expiredNotFound,
  expiredByQueryOnly,
  boundaryOffByOne,
  retainedRefused,
  typesIgnored,
  typesIgnoredInReplay,
  typesIgnoredLive,
  typesFirstOnly,
  typesByResource,
  typesRenumber,
  typesSwallowReplay,
  heartbeatNone,
  heartbeatLate,
  heartbeatOtherText,
  heartbeatAsEvent,
  heartbeatClearsCursor,
  heartbeatCarriesId,
  closesIdleStreams,
  oneSubscriber,
  subscribersTakeTurns,
  slowReaderBlocks,
  slowReaderThinnedOut,
  newlinesRaw,
  nonAsciiLost,
  longDataCut,
  separatorsBreakLines,
  eventBeforeFiles,
  deployedForEveryState,
  storedAfterDelivery,
  logWithComments,
  logNeverCompacted,
  compactionDropsNewest,
  idsRestartAtOne,
  idsReusedAfterRestart,
  logEmptiedAtRestart,
  tornLineGlued,
  tornLineEmptiesLog,
  everyMethodReads,
  badMethodFails,
  badMethodHangs,
  unknownPathServes,
  badEscapeFails,
  fewConnections,
  subscribersLeak,
  boundaryTooLenient,
  futureCursorReplaysAll,
  futureCursorExpired,
  deployedWhenQueued,
  deployedToldTwice,
  typesByPrefix,
  discoveryPortAsText,
  replayCapped,
  restartLoadsFew,
  idsCountedFromTheLog,
  seamGapAfterLongReplay,
  typesNeedACursor,
  typesLoseHeader,
  typesUndecoded,
  typesCommaUndecoded,
  payloadStatusIsActivity,
  deployedUntoldWithError,
  payloadReleaseBefore,
  heartbeatUnfilteredOnly,
  heartbeatEndsAtRestart,
  loopbackTokenAnyCase,
  loopbackTokenByLength,
  loopbackTokenInQuery,
  zeroLosesToHeader,
  discoveryWithoutToken,
  discoveryOtherNames,
  deviceIdAnew,
  filesAsciiOnly,
  filesFlat,
  fileKeptWhenThere,
  expiredWithTypesIsLive,
  boundaryByTypes,
  expiredUntilRestart,
  firstEventWithoutCursorLost,
  idsSharedByTwo,
];

/** Throws RangeError that names the known ones. */
export function deviceDefect(name: string): DeviceDefect {
  const found = deviceDefects.find((defect) => defect.name === name);
  if (found) return found;
  const known = deviceDefects.map((defect) => defect.name).join(', ');
  throw new RangeError(`no defect of the device is called ${JSON.stringify(name)}; known: ${known}`);
}

export type { DeviceDefect } from './types.ts';
