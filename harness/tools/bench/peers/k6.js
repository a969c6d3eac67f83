/** The same load for k6. Its variables: URL, RATE, SECONDS. */
import http from 'k6/http';

export const options = {
  discardResponseBodies: true,
  scenarios: {
    load: {
      executor: 'constant-arrival-rate',
      rate: Number(__ENV.RATE),
      timeUnit: '1s',
      duration: `${__ENV.SECONDS}s`,
      preAllocatedVUs: 512,
      maxVUs: 4000,
    },
  },
};

export default function load() {
  http.get(__ENV.URL);
}
