/** Every legal choice that the simulated platform can make in place of its own. */
import { byId } from './by-id.ts';
import { configNamesStrict } from './config-names-strict.ts';
import { conflict400 } from './conflict-400.ts';
import { contentUnchecked } from './content-unchecked.ts';
import { created201 } from './created-201.ts';
import { deployedBetweenReads } from './deployed-between-reads.ts';
import { driftWhenDeployed } from './drift-when-deployed.ts';
import { errorsAsProblemDetails } from './errors-as-problem-details.ts';
import { errorsWithoutBody } from './errors-without-body.ts';
import { fieldsBeyondThePublished } from './fields-beyond-the-published.ts';
import { groupParentByAnotherName } from './group-parent-by-another-name.ts';
import { groupsMovedElsewhere } from './groups-moved-elsewhere.ts';
import { groupsRenamedElsewhere } from './groups-renamed-elsewhere.ts';
import { limitLowTo0 } from './limit-low-to-0.ts';
import { limitLowToDefault } from './limit-low-to-default.ts';
import { listsExpandNoResources } from './lists-expand-no-resources.ts';
import { listsShowLess } from './lists-show-less.ts';
import { momentsToCome } from './moments-to-come.ts';
import { namesInAsciiOnly } from './names-in-ascii-only.ts';
import { namesTwice } from './names-twice.ts';
import { nonsenseReadLeniently } from './nonsense-read-leniently.ts';
import { nonsenseRefused } from './nonsense-refused.ts';
import { nullsOmitted } from './nulls-omitted.ts';
import { oldestFirst } from './oldest-first.ts';
import { parentIdInformational } from './parent-id-informational.ts';
import { pingAtLeastASecond } from './ping-at-least-a-second.ts';
import { pingLongClamped } from './ping-long-clamped.ts';
import { pingOtherWords } from './ping-other-words.ts';
import { pingTimeout408 } from './ping-timeout-408.ts';
import { pingTimeout504 } from './ping-timeout-504.ts';
import { releaseOfACommit } from './release-of-a-commit.ts';
import { scope401 } from './scope-401.ts';
import { slugPatchRefusedAlways } from './slug-patch-refused-always.ts';
import { timestampsWithOffset } from './timestamps-with-offset.ts';
import { tokensLimited } from './tokens-limited.ts';
import type { PlatformVariant } from './types.ts';
import { unauthorized403 } from './unauthorized-403.ts';
import { unauthorized404 } from './unauthorized-404.ts';
import { unexpandedIsNull } from './unexpanded-is-null.ts';
import { unknownId403 } from './unknown-id-403.ts';
import { unprocessable422 } from './unprocessable-422.ts';
import { versionOptional } from './version-optional.ts';

export const platformVariants: readonly PlatformVariant[] = [
  unauthorized404,
  pingAtLeastASecond,
  listsShowLess,
  namesInAsciiOnly,
  unauthorized403,
  scope401,
  unknownId403,
  unprocessable422,
  conflict400,
  errorsAsProblemDetails,
  errorsWithoutBody,
  fieldsBeyondThePublished,
  unexpandedIsNull,
  created201,
  limitLowTo0,
  limitLowToDefault,
  nonsenseRefused,
  nonsenseReadLeniently,
  oldestFirst,
  byId,
  pingLongClamped,
  pingTimeout408,
  pingTimeout504,
  pingOtherWords,
  timestampsWithOffset,
  versionOptional,
  parentIdInformational,
  driftWhenDeployed,
  namesTwice,
  contentUnchecked,
  slugPatchRefusedAlways,
  listsExpandNoResources,
  nullsOmitted,
  momentsToCome,
  deployedBetweenReads,
  tokensLimited,
  groupParentByAnotherName,
  groupsMovedElsewhere,
  groupsRenamedElsewhere,
  configNamesStrict,
  releaseOfACommit,
];

export type { PlatformVariant } from './types.ts';
