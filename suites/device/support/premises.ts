/**
 * The plainest checks that show what others need, so that one bug is found once. Each stands for those that it rests on itself. They are
 * quick, and fail for nothing but what they are about: one that follows replays does not fail for what is lost on live streams.
 */

/** Paths are found below the version prefix. */
export const PREFIX = ['device.version.prefix'];

/** The device answers at all, with the credentials of its transport. */
export const SERVED = ['device.socket.no-token', 'device.loopback.discovery'];

/** A stream opens, and another one after it. */
export const STREAM = ['device.events.content-type'];

/** Retained events can be read, each with an id of its own; without control. */
export const RETAINED = ['device.events.monotonic.retained'];

/** The same, and their replays are compared with each other. */
export const RETAINED_REPLAY = ['device.events.replay.exclusive.retained'];

/** Events can be read, each with an id of its own. */
export const EVENTS = ['device.events.monotonic'];

/** Every event after a cursor is replayed, and no other. */
export const REPLAY = ['device.events.replay.exclusive'];

/** The same for either cursor, and no live event is lost after it. */
export const LIVE = ['device.events.replay.seam'];

/** The same also after a restart: one that loses the log spoils what comes after it. */
export const LASTING = [...LIVE, 'device.log.restart'];

/** As `LIVE`, and the events of a deployment name it as section 2.4 says. */
export const DEPLOYMENT_EVENTS = [...LIVE, 'device.events.envelope', 'device.events.type-form'];

/** What is deployed is shown as the current deployment. */
export const CURRENT_SHOWN = ['device.deployment.current'];
