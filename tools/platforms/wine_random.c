/* bcryptprimitives.dll for versions of wine that lack it, such as that of Debian 12: the standard
   library of Rust takes random numbers from it. tools/platforms/emulators.sh builds it. */

#include <windows.h>

/* RtlGenRandom, as advapi32 has it. */
BOOLEAN NTAPI SystemFunction036(PVOID bytes, ULONG len);

__declspec(dllexport) BOOL WINAPI ProcessPrng(PBYTE bytes, SIZE_T len)
{
    while (len > 0) {
        ULONG some = len > 1 << 20 ? 1 << 20 : (ULONG)len;
        if (!SystemFunction036(bytes, some))
            return FALSE;
        bytes += some;
        len -= some;
    }
    return TRUE;
}
