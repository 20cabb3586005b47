/* The functions of the common library: texts of all codes, and the translations of other libraries' codes. */
#include "observe.h"

int main(void)
{
	static const int far[] = {100, 1000, 0x7fffffff, -1, -2, -0x7fffffff - 1};

	begin();
	section("cs_strerror");
	for (int i = 0; i < 40; i++)
		printf("%d: %s\n", i, cs_strerror((cs_error_t)i));
	for (unsigned int i = 0; i < sizeof(far) / sizeof(far[0]); i++)
		printf("%d: %s\n", far[i], cs_strerror((cs_error_t)far[i]));
	section("qb_to_cs_error");
	for (int i = -140; i < 10; i++)
		printf("%d: %s\n", i, code(qb_to_cs_error(i)));
	for (unsigned int i = 0; i < sizeof(far) / sizeof(far[0]); i++)
		printf("%d: %s\n", far[i], code(qb_to_cs_error(far[i])));
	section("hdb_error_to_cs");
	for (int i = -140; i < 10; i++)
		printf("%d: %s\n", i, code(hdb_error_to_cs(i)));
	for (unsigned int i = 0; i < sizeof(far) / sizeof(far[0]); i++)
		printf("%d: %s\n", far[i], code(hdb_error_to_cs(far[i])));
	return 0;
}
