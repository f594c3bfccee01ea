/** File systems on which SQLite's write-ahead log cannot be trusted between processes and hosts. */
const UNSUITED: Readonly<Record<number, string>> = {
  0x6969: 'NFS',
  0xff534d42: 'CIFS',
  0xfe534d42: 'SMB',
  0x517b: 'SMB',
  0x0bd00bd0: 'Lustre',
  0x47504653: 'GPFS',
  0x01021997: '9p',
  0x65735546: 'FUSE',
  0x00c36400: 'Ceph',
  0x5346414f: 'AFS',
  0x19830326: 'BeeGFS',
  0x7461636f: 'OCFS2',
  0x01161970: 'GFS2',
  0x786f4256: 'a VirtualBox folder',
  0xaad7aaea: 'PanFS',
};

/** The name of an unsuited file system, undefined for all others. */
export function unsuitedFileSystem(type: number | undefined): string | undefined {
  // statfs gives a signed number on some platforms.
  return type === undefined ? undefined : UNSUITED[type >>> 0];
}
