/**
 * A self-signed certificate for 127.0.0.1 and localhost, and its key, which guards nothing. For tests only. Made with
 * `openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 36500 -subj /CN=localhost
 * -addext subjectAltName=IP:127.0.0.1,DNS:localhost`.
 */
export const localhostTls = {
  cert: `-----BEGIN CERTIFICATE-----
MIIBmjCCAUGgAwIBAgIUAYDXoyu8fEU7Mr+DfU8guatcGpMwCgYIKoZIzj0EAwIw
FDESMBAGA1UEAwwJbG9jYWxob3N0MCAXDTI2MTEyMTA0MDQ0OFoYDzIxMjYxMDI4
MDQwNDQ4WjAUMRIwEAYDVQQDDAlsb2NhbGhvc3QwWTATBgcqhkjOPQIBBggqhkjO
PQMBBwNCAARWEBMWKSodGAm8TU9gfWI65cJLkNlQqehbFhIl8KfBxye+ZDTv12tQ
TuCxSWbW/FDnQGHOOqBV06Rx6gQ2XSkuo28wbTAdBgNVHQ4EFgQU/BYH4QCZrYRR
t5iXNDqdWYjgUgswHwYDVR0jBBgwFoAU/BYH4QCZrYRRt5iXNDqdWYjgUgswDwYD
VR0TAQH/BAUwAwEB/zAaBgNVHREEEzARhwR/AAABgglsb2NhbGhvc3QwCgYIKoZI
zj0EAwIDRwAwRAIgb9HuDBAX/j3Fj6N4wlNOnmegkaJpaVL0KXkcGBj4TZYCIFFZ
e4QYn9cxBiGUlKxiqFBxPH325laRanEXvDkPR1tE
-----END CERTIFICATE-----
`,
  key: `-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQg/YBITftxuzRNf3B7
4q//jwisvcN7rN+x9wMbS0+NfBKhRANCAARWEBMWKSodGAm8TU9gfWI65cJLkNlQ
qehbFhIl8KfBxye+ZDTv12tQTuCxSWbW/FDnQGHOOqBV06Rx6gQ2XSku
-----END PRIVATE KEY-----
`,
};
