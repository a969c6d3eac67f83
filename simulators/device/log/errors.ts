/** How an event log fails. */
/** The log cannot take events: the disk is full or not writable, or the robot is down. None of the events was delivered. */
export class EventLogError extends Error {
  override name = 'EventLogError';
}

/** The agent that should store the events has ended. */
export class AgentDownError extends EventLogError {
  override name = 'AgentDownError';
}

/** The log could not be compacted. Every event is still there. */
export class CompactionError extends Error {
  override name = 'CompactionError';
}
