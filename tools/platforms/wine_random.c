/* bcryptprimitives.dll for versions of wine that lack it, such as wine of Debian 12: the standard
   library of Rust reads random numbers from it. tools/platforms/emulators.sh builds it. */

#include <windows.h>

/* RtlGenRandom of advapi32. */
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
