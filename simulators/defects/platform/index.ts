/** Every named deviation of the simulated platform. */
import { archivedInRainier } from './archived-in-rainier.ts';
import { archivedIsDeployed } from './archived-is-deployed.ts';
import { badJsonFails } from './bad-json-fails.ts';
import { beyondEndLastPage } from './beyond-end-last-page.ts';
import { beyondEndRefused } from './beyond-end-refused.ts';
import { bodiesHalfRead } from './bodies-half-read.ts';
import { configTypeRenameLost } from './config-type-rename-lost.ts';
import { createdUnlisted } from './created-unlisted.ts';
import { defaultLimit20 } from './default-limit-20.ts';
import { defaultOffset1 } from './default-offset-1.ts';
import { deploymentDescriptionLost } from './deployment-description-lost.ts';
import { deploymentDescriptionNull } from './deployment-description-null.ts';
import { deploymentIdBare } from './deployment-id-bare.ts';
import { deploymentOfAnotherRelease } from './deployment-of-another-release.ts';
import { deploymentWithoutTarget } from './deployment-without-target.ts';
import { endOfLifeServed } from './end-of-life-served.ts';
import { envelopeHasMoreMissing } from './envelope-has-more-missing.ts';
import { envelopeLimitText } from './envelope-limit-text.ts';
import { envelopeObject } from './envelope-object.ts';
import { expansionIgnored } from './expansion-ignored.ts';
import { expansionsUnasked } from './expansions-unasked.ts';
import { failedStays } from './failed-stays.ts';
import { failureNotArchived } from './failure-not-archived.ts';
import { groupBelowItsChild } from './group-below-its-child.ts';
import { groupBelowItself } from './group-below-itself.ts';
import { groupRenameLost } from './group-rename-lost.ts';
import { groupRenameNewId } from './group-rename-new-id.ts';
import { hasMoreForgetsOffset } from './has-more-forgets-offset.ts';
import { hasMoreNever } from './has-more-never.ts';
import { hasMoreOfRawOffset } from './has-more-of-raw-offset.ts';
import { hasMoreOnFullPage } from './has-more-on-full-page.ts';
import { itemsOfAnotherType } from './items-of-another-type.ts';
import { itemsRepeated } from './items-repeated.ts';
import { itemsWithoutObject } from './items-without-object.ts';
import { keyByPrefix } from './key-by-prefix.ts';
import { keyOptional } from './key-optional.ts';
import { keyOptionalForTokens } from './key-optional-for-tokens.ts';
import { keyOptionalSingly } from './key-optional-singly.ts';
import { keyOptionalToChange } from './key-optional-to-change.ts';
import { keyUnchecked } from './key-unchecked.ts';
import { largeBodyFails } from './large-body-fails.ts';
import { limit32Bit } from './limit-32-bit.ts';
import { limitClampedInEchoOnly } from './limit-clamped-in-echo-only.ts';
import { limitHighRefused } from './limit-high-refused.ts';
import { limitHighToDefault } from './limit-high-to-default.ts';
import { limitLowNegative } from './limit-low-negative.ts';
import { limitLowRefused } from './limit-low-refused.ts';
import { limitOffByOne } from './limit-off-by-one.ts';
import { limitUnbounded } from './limit-unbounded.ts';
import { membershipFails } from './membership-fails.ts';
import { membershipWritten } from './membership-written.ts';
import { mergeWrongSingly } from './merge-wrong-singly.ts';
import { momentArchivedMissing } from './moment-archived-missing.ts';
import { momentDeployedEarly } from './moment-deployed-early.ts';
import { momentDeployedOfStaged } from './moment-deployed-of-staged.ts';
import { momentQueuedMissing } from './moment-queued-missing.ts';
import { momentsCleared } from './moments-cleared.ts';
import { momentsOutOfOrder } from './moments-out-of-order.ts';
import { namesBeyondBmpFail } from './names-beyond-bmp-fail.ts';
import { namesInAscii } from './names-in-ascii.ts';
import { newestFails } from './newest-fails.ts';
import { nonsenseEchoed } from './nonsense-echoed.ts';
import { nonsenseFails } from './nonsense-fails.ts';
import { objectsInPlural } from './objects-in-plural.ts';
import { offsetHugeFails } from './offset-huge-fails.ts';
import { offsetIgnored } from './offset-ignored.ts';
import { offsetInPages } from './offset-in-pages.ts';
import { offsetNegativeFromTheEnd } from './offset-negative-from-the-end.ts';
import { offsetNegativeMirrored } from './offset-negative-mirrored.ts';
import { offsetNegativeRefused } from './offset-negative-refused.ts';
import { orderDependsOnLimit } from './order-depends-on-limit.ts';
import { orderUnstable } from './order-unstable.ts';
import { pageTooLong } from './page-too-long.ts';
import { pageTooShort } from './page-too-short.ts';
import { pagesOverlap } from './pages-overlap.ts';
import { pagesSkip } from './pages-skip.ts';
import { pagesSkipWithLimit33 } from './pages-skip-with-limit-33.ts';
import { parentIdRefused } from './parent-id-refused.ts';
import { parentIgnored } from './parent-ignored.ts';
import { parentNullCreated } from './parent-null-created.ts';
import { parentNullRefused } from './parent-null-refused.ts';
import { parentOmittedIsNull } from './parent-omitted-is-null.ts';
import { parentOmittedRefused } from './parent-omitted-refused.ts';
import { pingAnsweredInItsPlace } from './ping-answered-in-its-place.ts';
import { pingBodyUnread } from './ping-body-unread.ts';
import { pingHugeFails } from './ping-huge-fails.ts';
import { pingNeverSucceeds } from './ping-never-succeeds.ts';
import { pingNotSent } from './ping-not-sent.ts';
import { pingPatient } from './ping-patient.ts';
import { pingRoundTripMissing } from './ping-round-trip-missing.ts';
import { pingRoundTripNegative } from './ping-round-trip-negative.ts';
import { pingRoundTripTooLong } from './ping-round-trip-too-long.ts';
import { pingTimeoutDoubled } from './ping-timeout-doubled.ts';
import { pingTimeoutIsSuccess } from './ping-timeout-is-success.ts';
import { pingUnknownDevice } from './ping-unknown-device.ts';
import { pingUnlimited } from './ping-unlimited.ts';
import { queuedIsDeployed } from './queued-is-deployed.ts';
import { rainierFails } from './rainier-fails.ts';
import { rainierRefused } from './rainier-refused.ts';
import { removingInTetons } from './removing-in-tetons.ts';
import { replacedIsStagedAgain } from './replaced-is-staged-again.ts';
import { replacedStaysDeployed } from './replaced-stays-deployed.ts';
import { reportsDropped } from './reports-dropped.ts';
import { schemasCalledTypes } from './schemas-called-types.ts';
import { scopeIgnored } from './scope-ignored.ts';
import { slotsFirstOnly } from './slots-first-only.ts';
import { slotsInRainier } from './slots-in-rainier.ts';
import { slotsOfPreviousSchema } from './slots-of-previous-schema.ts';
import { slotsUnlisted } from './slots-unlisted.ts';
import { slotsWithoutFilepath } from './slots-without-filepath.ts';
import { slugPatchIgnored } from './slug-patch-ignored.ts';
import { slugPatched } from './slug-patched.ts';
import { statusErrorAlways } from './status-error-always.ts';
import { statusFromActivity } from './status-from-activity.ts';
import { statusIgnoresRetrying } from './status-ignores-retrying.ts';
import { syncNotRequested } from './sync-not-requested.ts';
import { targetNotReplaced } from './target-not-replaced.ts';
import { timestampsInSeconds } from './timestamps-in-seconds.ts';
import { timestampsWithoutT } from './timestamps-without-t.ts';
import { tokenInTetons } from './token-in-tetons.ts';
import { tokenRepeated } from './token-repeated.ts';
import { tokenWithoutExpiry } from './token-without-expiry.ts';
import { totalCountAbsent } from './total-count-absent.ts';
import { totalCountOfPage } from './total-count-of-page.ts';
import { totalCountOfTheRest } from './total-count-of-the-rest.ts';
import { totalCountUnasked } from './total-count-unasked.ts';
import { totalCountWithAnyExpansion } from './total-count-with-any-expansion.ts';
import { twoTargets } from './two-targets.ts';
import type { PlatformDefect } from './types.ts';
import { typesUnchecked } from './types-unchecked.ts';
import { unknownIdEmpty } from './unknown-id-empty.ts';
import { unknownIdFails } from './unknown-id-fails.ts';
import { unknownPathServed } from './unknown-path-served.ts';
import { versionMalformedServed } from './version-malformed-served.ts';
import { versionOmittedFails } from './version-omitted-fails.ts';
import { versionRefused } from './version-refused.ts';
import { versionUnknownServed } from './version-unknown-served.ts';
import { wrongMethodFails } from './wrong-method-fails.ts';
import { yamlBecomesJson } from './yaml-becomes-json.ts';
import { yamlRefused } from './yaml-refused.ts';

/** Those that show on the Platform API alone. */
export const platformDefects: readonly PlatformDefect[] = [
  pagesSkipWithLimit33,
  pingRoundTripNegative,
  configTypeRenameLost,
  createdUnlisted,
  namesBeyondBmpFail,
  namesInAscii,
  deploymentDescriptionLost,
  deploymentOfAnotherRelease,
  slotsUnlisted,
  rainierRefused,
  versionOmittedFails,
  pingTimeoutDoubled,
  objectsInPlural,
  schemasCalledTypes,
  hasMoreOfRawOffset,
  totalCountWithAnyExpansion,
  mergeWrongSingly,
  keyByPrefix,
  keyOptionalForTokens,
  keyOptionalToChange,
  keyOptionalSingly,
  pingHugeFails,
  momentsOutOfOrder,
  momentArchivedMissing,
  newestFails,
  rainierFails,
  keyOptional,
  keyUnchecked,
  scopeIgnored,
  versionRefused,
  endOfLifeServed,
  versionMalformedServed,
  versionUnknownServed,
  envelopeObject,
  envelopeLimitText,
  envelopeHasMoreMissing,
  itemsWithoutObject,
  itemsRepeated,
  itemsOfAnotherType,
  timestampsInSeconds,
  timestampsWithoutT,
  defaultLimit20,
  defaultOffset1,
  limitUnbounded,
  limitClampedInEchoOnly,
  limitHighRefused,
  limitHighToDefault,
  limitLowRefused,
  limitLowNegative,
  offsetNegativeRefused,
  offsetNegativeMirrored,
  offsetNegativeFromTheEnd,
  limit32Bit,
  offsetHugeFails,
  nonsenseFails,
  nonsenseEchoed,
  limitOffByOne,
  pageTooLong,
  pageTooShort,
  hasMoreOnFullPage,
  hasMoreNever,
  hasMoreForgetsOffset,
  totalCountOfPage,
  totalCountUnasked,
  totalCountOfTheRest,
  totalCountAbsent,
  pagesOverlap,
  pagesSkip,
  offsetInPages,
  offsetIgnored,
  orderDependsOnLimit,
  orderUnstable,
  beyondEndLastPage,
  beyondEndRefused,
  pingTimeoutIsSuccess,
  pingNeverSucceeds,
  pingRoundTripTooLong,
  pingRoundTripMissing,
  pingPatient,
  pingUnlimited,
  pingUnknownDevice,
  pingBodyUnread,
  statusFromActivity,
  statusIgnoresRetrying,
  statusErrorAlways,
  deploymentWithoutTarget,
  deploymentIdBare,
  deploymentDescriptionNull,
  removingInTetons,
  failedStays,
  archivedIsDeployed,
  replacedIsStagedAgain,
  parentIgnored,
  parentNullRefused,
  twoTargets,
  parentOmittedRefused,
  parentNullCreated,
  parentIdRefused,
  parentOmittedIsNull,
  momentQueuedMissing,
  momentDeployedEarly,
  momentDeployedOfStaged,
  momentsCleared,
  slugPatched,
  slugPatchIgnored,
  slotsOfPreviousSchema,
  slotsInRainier,
  slotsFirstOnly,
  slotsWithoutFilepath,
  yamlRefused,
  yamlBecomesJson,
  expansionsUnasked,
  expansionIgnored,
  archivedInRainier,
  groupBelowItsChild,
  groupBelowItself,
  groupRenameLost,
  groupRenameNewId,
  membershipWritten,
  membershipFails,
  tokenWithoutExpiry,
  tokenInTetons,
  tokenRepeated,
  badJsonFails,
  bodiesHalfRead,
  typesUnchecked,
  largeBodyFails,
  unknownIdFails,
  unknownIdEmpty,
  unknownPathServed,
  wrongMethodFails,
];

/** Those that only show with a device that is enrolled in the platform. */
export const systemDefects: readonly PlatformDefect[] = [
  syncNotRequested,
  reportsDropped,
  failureNotArchived,
  targetNotReplaced,
  replacedStaysDeployed,
  queuedIsDeployed,
  pingNotSent,
  pingAnsweredInItsPlace,
];

/** Throws RangeError that names the known ones. */
export function platformDefect(name: string): PlatformDefect {
  const all = [...platformDefects, ...systemDefects];
  const found = all.find((defect) => defect.name === name);
  if (found) return found;
  const known = all.map((defect) => defect.name).join(', ');
  throw new RangeError(`no defect of the platform is called ${JSON.stringify(name)}; known: ${known}`);
}

export type { PlatformDefect } from './types.ts';
