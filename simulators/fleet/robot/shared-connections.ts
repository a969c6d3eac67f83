/** HTTP connections to the platform that the robots of a worker share. */
export const UPLINK_CONNECTIONS = 64;
