# Installs the build into a fresh folder and compiles the C consumer with what pkg-config says of it.
#   cmake -DBUILD=... -DSOURCE=consumer.c -DWORK=... -DCC=... -DPKG_CONFIG=... -P pkg_config.cmake
file(REMOVE_RECURSE ${WORK})
set(run COMMAND_ERROR_IS_FATAL ANY OUTPUT_STRIP_TRAILING_WHITESPACE)
execute_process(COMMAND ${CMAKE_COMMAND} --install ${BUILD} --prefix ${WORK}/prefix OUTPUT_QUIET ${run})
file(GLOB_RECURSE description ${WORK}/prefix/heed.pc)
cmake_path(GET description PARENT_PATH folder)
set(ask ${CMAKE_COMMAND} -E env PKG_CONFIG_PATH=${folder} ${PKG_CONFIG})
execute_process(COMMAND ${ask} --cflags --libs heed OUTPUT_VARIABLE flags ${run})
execute_process(COMMAND ${ask} --variable=libdir heed OUTPUT_VARIABLE libdir ${run})
separate_arguments(flags)
execute_process(COMMAND ${CC} -std=c11 -Wall -Wextra -Werror ${SOURCE} -o ${WORK}/consumer ${flags}
                -lm -Wl,-rpath,${libdir} ${run})
execute_process(COMMAND ${WORK}/consumer ${run})
