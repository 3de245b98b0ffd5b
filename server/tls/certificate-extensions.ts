// What a certificate says of its client beside the name: Puppet's extensions (`pp_role`, `pp_cli_auth`, ...) and the alternative
// names, read from its DER bytes (RFC 5280). Node gives out the bytes and the alternative names, but no extension that it does not
// know. Only certificates that have been verified come here.

import { type Element, elements, inside, SEQUENCE } from './der.ts';

/** Parent of Puppet's own extensions. */
const PUPPET = '1.3.6.1.4.1.34380.1';
/** Object identifier of the alternative names. */
export const ALTERNATIVE_NAMES = '2.5.29.17';

/** Names in the order of their numbers from 1 on, below the branch of registered extensions. */
const REGISTERED = [
  'pp_uuid',
  'pp_instance_id',
  'pp_image_name',
  'pp_preshared_key',
  'pp_cost_center',
  'pp_product',
  'pp_project',
  'pp_application',
  'pp_service',
  'pp_employee',
  'pp_created_by',
  'pp_environment',
  'pp_role',
  'pp_software_version',
  'pp_department',
  'pp_cluster',
  'pp_provisioner',
  'pp_region',
  'pp_datacenter',
  'pp_zone',
  'pp_network',
  'pp_securitypolicy',
  'pp_cloudplatform',
  'pp_apptier',
  'pp_hostname',
  'pp_owner',
];

/** Object identifiers by the names that Puppet gives them. */
export const extensionIds: ReadonlyMap<string, string> = new Map([
  ...REGISTERED.map((name, i) => [name, `${PUPPET}.1.${i + 1}`] as const),
  ['pp_authorization', `${PUPPET}.3.1`],
  ['pp_auth_auto_renew', `${PUPPET}.3.2`],
  ['pp_auth_role', `${PUPPET}.3.13`],
  ['pp_cli_auth', `${PUPPET}.3.39`],
]);

/** Kinds of alternative names that are looked at, as rules call them, by their tag. */
const ALTERNATIVE_KINDS: ReadonlyMap<number, string> = new Map([
  [0x81, 'rfc822-name'],
  [0x82, 'dns-name'],
  [0x86, 'uri'],
  [0x87, 'ip'],
]);

export const alternativeKinds: ReadonlySet<string> = new Set(ALTERNATIVE_KINDS.values());

export interface CertificateExtensions {
  /** Values that are texts, by object identifier. */
  readonly texts: ReadonlyMap<string, string>;
  /** Alternative names by their kind. */
  readonly alternativeNames: ReadonlyMap<string, readonly string[]>;
}

const BOOLEAN = 0x01;
const OCTETS = 0x04;
const OBJECT_ID = 0x06;
/** The optional last part of a certificate's body. */
const EXTENSIONS = 0xa3;
const TEXTS: ReadonlyMap<number, BufferEncoding> = new Map([
  [0x0c, 'utf8'], // UTF8String
  [0x12, 'latin1'], // NumericString
  [0x13, 'latin1'], // PrintableString
  [0x14, 'latin1'], // TeletexString
  [0x16, 'latin1'], // IA5String
  [0x1a, 'latin1'], // VisibleString
]);

/** Reads the extensions of a certificate. Throws when the bytes are no certificate. */
export function readExtensions(der: Uint8Array): CertificateExtensions {
  const texts = new Map<string, string>();
  let alternativeNames: ReadonlyMap<string, readonly string[]> = new Map();
  const [certificate] = elements(der);
  const [body] = elements(inside(certificate, SEQUENCE));
  const last = elements(inside(body, SEQUENCE)).find(({ tag }) => tag === EXTENSIONS);
  const [list] = last === undefined ? [] : elements(last.bytes);
  for (const extension of list === undefined ? [] : elements(inside(list, SEQUENCE))) {
    const parts = elements(inside(extension, SEQUENCE));
    const id = objectId(inside(parts[0], OBJECT_ID));
    // Between them stands whether it is critical, unless it is not.
    const value = inside(parts[parts[1]?.tag === BOOLEAN ? 2 : 1], OCTETS);
    if (id === ALTERNATIVE_NAMES) alternativeNames = namesOf(value);
    else {
      const text = textOf(value);
      if (text !== null) texts.set(id, text);
    }
  }
  return { texts, alternativeNames };
}

/** Dotted numbers: seven bits a byte, the first two numbers in one. */
function objectId(bytes: Uint8Array): string {
  const numbers: number[] = [];
  let number = 0;
  for (const byte of bytes) {
    number = number * 128 + (byte & 0x7f);
    if (byte >= 0x80) continue;
    if (numbers.length === 0) {
      const first = Math.min(2, Math.floor(number / 40));
      numbers.push(first, number - first * 40);
    } else numbers.push(number);
    number = 0;
  }
  return numbers.join('.');
}

/** null when the value is no text. */
function textOf(value: Uint8Array): string | null {
  let found: Element[];
  try {
    found = elements(value);
  } catch {
    return null;
  }
  const [element] = found;
  const encoding = element === undefined || found.length > 1 ? undefined : TEXTS.get(element.tag);
  return encoding === undefined ? null : Buffer.from(element!.bytes).toString(encoding);
}

function namesOf(value: Uint8Array): Map<string, string[]> {
  const names = new Map<string, string[]>();
  const [list] = elements(value);
  for (const { tag, bytes } of elements(inside(list, SEQUENCE))) {
    const kind = ALTERNATIVE_KINDS.get(tag);
    if (kind === undefined) continue;
    const name = kind === 'ip' ? address(bytes) : Buffer.from(bytes).toString('latin1');
    names.set(kind, [...(names.get(kind) ?? []), name]);
  }
  return names;
}

/** IPv4 with dots; IPv6 as eight groups without leading zeroes. */
function address(bytes: Uint8Array): string {
  if (bytes.length !== 16) return bytes.join('.');
  const groups = Array.from({ length: 8 }, (_, i) => (bytes[2 * i]! * 256 + bytes[2 * i + 1]!).toString(16));
  return groups.join(':');
}
