package nexmark;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;

/** XXH64, as its specification has it; Spark's xxhash64 is the same, with the hash of one column as the next seed. */
final class XxHash64 {
    private static final long PRIME1 = 0x9E3779B185EBCA87L;
    private static final long PRIME2 = 0xC2B2AE3D27D4EB4FL;
    private static final long PRIME3 = 0x165667B19E3779F9L;
    private static final long PRIME4 = 0x85EBCA77C2B2AE63L;
    private static final long PRIME5 = 0x27D4EB2F165667C5L;
    private static final VarHandle LONGS =
            MethodHandles.byteArrayViewVarHandle(long[].class, ByteOrder.LITTLE_ENDIAN);
    private static final VarHandle INTS = MethodHandles.byteArrayViewVarHandle(int[].class, ByteOrder.LITTLE_ENDIAN);

    private XxHash64() {}

    static long ofLong(long value, long seed) {
        long hash = seed + PRIME5 + 8L;
        hash ^= round(0, value);
        hash = Long.rotateLeft(hash, 27) * PRIME1 + PRIME4;
        return avalanche(hash);
    }

    static long ofBytes(byte[] bytes, long seed) {
        int at = 0;
        long hash;
        if (bytes.length >= 32) {
            long one = seed + PRIME1 + PRIME2;
            long two = seed + PRIME2;
            long three = seed;
            long four = seed - PRIME1;
            for (; at <= bytes.length - 32; at += 32) {
                one = round(one, (long) LONGS.get(bytes, at));
                two = round(two, (long) LONGS.get(bytes, at + 8));
                three = round(three, (long) LONGS.get(bytes, at + 16));
                four = round(four, (long) LONGS.get(bytes, at + 24));
            }
            hash = Long.rotateLeft(one, 1) + Long.rotateLeft(two, 7);
            hash += Long.rotateLeft(three, 12) + Long.rotateLeft(four, 18);
            for (long lane : new long[] {one, two, three, four}) {
                hash = (hash ^ round(0, lane)) * PRIME1 + PRIME4;
            }
        } else {
            hash = seed + PRIME5;
        }
        return avalanche(rest(bytes, at, hash + bytes.length));
    }

    private static long rest(byte[] bytes, int from, long begun) {
        int at = from;
        long hash = begun;
        for (; at <= bytes.length - 8; at += 8) {
            hash = Long.rotateLeft(hash ^ round(0, (long) LONGS.get(bytes, at)), 27) * PRIME1 + PRIME4;
        }
        if (at <= bytes.length - 4) {
            hash ^= ((int) INTS.get(bytes, at) & 0xFFFFFFFFL) * PRIME1;
            hash = Long.rotateLeft(hash, 23) * PRIME2 + PRIME3;
            at += 4;
        }
        for (; at < bytes.length; at++) {
            hash = Long.rotateLeft(hash ^ ((bytes[at] & 0xFFL) * PRIME5), 11) * PRIME1;
        }
        return hash;
    }

    private static long round(long lane, long input) {
        return Long.rotateLeft(lane + input * PRIME2, 31) * PRIME1;
    }

    private static long avalanche(long begun) {
        long hash = begun;
        hash = (hash ^ (hash >>> 33)) * PRIME2;
        hash = (hash ^ (hash >>> 29)) * PRIME3;
        return hash ^ (hash >>> 32);
    }
}
